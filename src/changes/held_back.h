// HeldBack: after the last process of a run has ended, compares its private copies with what they
// were copied from, and keeps aside what the run changed.
//
// What counts as changed by the run: a file whose content or mode is not the original's. If the
// person has changed the original meanwhile (identity, size or ctime are others), the two cannot be
// compared; then the copy counts as changed if its own ctime moved, and its base is unknown, so
// that `cordon changes apply` asks the person before anything is overwritten.
//
// A copy in which something changed is moved as a whole into handoff/RUN: one rename, whatever the
// run put into it. A copy in which nothing changed stays where it is and goes with the other
// private files of the run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "changes/manifest.h"
#include "changes/private_copies.h"
#include "policy/host_facts.h"

namespace cordon {

// fingerprint: what stands under a name, as one line of text that can be written down and compared
// later. Two objects with one fingerprint are the same to whoever uses them: type, permission bits,
// content, and for a directory everything in it. Owner and times do not count.

inline constexpr const char* kAbsent = "absent";
// Of something that nothing can be compared with: it could not be read, or has no content.
inline constexpr const char* kUnknown = "unknown";

// Follows no symlink and opens no FIFO.
std::string fingerprint(int directory, const std::string& name);
// The same by a canonical absolute path.
std::string fingerprint_path(const std::string& path);
// The same of what a run left, which is opened for the moment where the run closed it.
std::string fingerprint_kept(const std::string& path);

// Files of one copied object that are listed one by one; with more the object is one entry.
inline constexpr std::size_t kMostListed = 1000;

class HeldBack {
 public:
  // Nothing is made before the first thing is kept. `cwd` shortens the names in handoff/RUN.
  HeldBack(std::string handoff, std::string run_id, std::string cwd)
      : handoff_(std::move(handoff)), run_id_(std::move(run_id)), cwd_(std::move(cwd)) {}

  Result<void> compare(const CopiedObject& object);
  // Moves a file or directory of Cordon's own into handoff/RUN, under a name made of `path`.
  // Returns where it lies.
  Result<std::string> keep(const std::string& from, const std::string& path);
  Result<std::string> keep_text(std::string_view text, const std::string& path);
  void add(ChangeRecord record) { records_.push_back(std::move(record)); }

  [[nodiscard]] const std::vector<ChangeRecord>& records() const { return records_; }
  std::vector<ChangeRecord> take() { return std::move(records_); }

  // A free name in handoff/RUN for `path`.
  Result<std::string> place_for(const std::string& path);

 private:
  std::string handoff_;
  std::string run_id_;
  std::string cwd_;
  std::vector<ChangeRecord> records_;
};

}  // namespace cordon
