// Quarantine: takes objects out of a tree that a contained program wrote and puts them where no
// tool looks. Everything is relative to descriptors and follows no symlink; what cannot be moved
// is renamed in place to a name that means nothing. Everything is taken; the report names the first
// thousand and counts the rest, with paths of a length that can be shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "host/tree_copy.h"
#include "policy/protected_names.h"

namespace cordon {

class Quarantine {
 public:
  // Nothing is made before the first object is taken.
  Quarantine(std::string handoff_directory, std::string run_id, std::string cwd);

  // `path` is the absolute path of `name` in `directory`, for the report and the new name. What is
  // gone meanwhile is no failure: another run that lives in the same tree has moved or removed it,
  // and looks when it ends.
  void take(int directory, const std::string& name, const std::string& path, HoldKind kind);
  // The same, and whether something was taken.
  bool was_taken(int directory, const std::string& name, const std::string& path, HoldKind kind);
  // A changed protected file whose original is back under `path`; `name` is what it is called now.
  void take_changed(int directory, const std::string& name, const std::string& path, HoldKind kind);
  // The original is back, and there was nothing to take away.
  void put_back(const std::string& path, HoldKind kind);
  // The newer file stays; a copy of what was there before goes with what was taken. False if that
  // copy cannot be made.
  bool keep_original(int content, const std::string& path, HoldKind kind);
  // Something that was changed and cannot be put back, now.
  void failed(Error error);
  // Named in the report, left where it is.
  void report(const std::string& path, HoldKind kind);

  // Named as a place that could not be searched.
  void unchecked(const std::string& path, std::string_view why);

  // What was taken and reported; the first failure if something held could not be taken away.
  Result<std::vector<Quarantined>> finish();

 private:
  Result<void> open_directory();
  Result<std::string> move(int directory, const std::string& name, const std::string& path);
  [[nodiscard]] std::string shown(const std::string& path) const;
  void add(Quarantined entry);

  std::string handoff_directory_;
  std::string run_id_;
  std::string cwd_;
  std::string place_;  // handoff_directory_/run_id_
  Fd into_;
  unsigned taken_ = 0;
  unsigned collisions_ = 0;
  CopyBudget budget_;
  std::vector<Quarantined> handoff_;
  std::size_t more_moved_ = 0;
  std::size_t more_named_ = 0;
  std::vector<Error> errors_;
};

// A single file name for a path: no separator, no control byte, not longer than a name may be.
std::string handoff_name(std::string_view path);
// The path that such a name was made of; empty if the name tells only its end.
std::string handoff_path(std::string_view name);

}  // namespace cordon
