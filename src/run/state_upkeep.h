// State upkeep: what runs leave behind for later, within the bounds that ceilings set ([keep]).
//
// Four kinds of things stay in the state directory: changes that wait for a person (stages, files
// that were held back), what undoes changes that were applied, private homes, and caches. Nothing
// of it is removed unless an operator has written a bound.
//
//   days   What nobody has touched for longer is removed, changes that wait and homes included. A
//          ceiling cannot shorten what another one keeps: the most days count.
//   size   Of all four together; the smallest counts. Caches are removed first, since they can be
//          filled again, then what belongs to changes that were applied or discarded, the oldest
//          first. Nobody's work is removed for its size: where changes that wait and homes alone
//          take more, a run that would stage further ones is refused.
//
// What is in use is left alone. Each run, and each `cordon changes`, holds the lock of the run that
// it works on (changes/run_lock.h), a stage has its own, and a run holds a shared lock on its home
// and on the caches (`DirectoryInUse`). When those were used last is noted beside them, where no
// run reaches it: the times of a home itself are whatever a command made them. Everything is
// renamed before it is removed, so that a run that begins meanwhile finds a whole directory or
// none. What was used or changed since it was looked at stays, and so does a stage of which it
// cannot be told whose it is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "host/caller.h"

namespace cordon {

// At a start, before anything is looked at: what runs left that were cut off (run/recovery.h), then
// what is kept no longer. Returns what people are to be told.
std::vector<Quarantined> recover(std::span<const Ceiling> ceilings, const Caller& caller);

// An error of a run that then did not start: what was removed is told all the same.
Error with_told(Error error, const std::vector<Quarantined>& told);

// Before a stage is made: an error if what lies in the state directory takes more than ceilings
// keep, after what may be removed was.
Result<void> check_room(std::span<const Ceiling> ceilings, const Caller& caller);

// Notes that a home or the caches at `path` were used now.
void note_used(const std::string& path);

// A home or the caches that a run uses: removed by nobody as long as this lives, and noted as used
// at both ends. A run may last longer than what is unused is kept.
class DirectoryInUse {
 public:
  // Waits while somebody else removes `directory`, which was opened as `path`. Nothing if the name
  // leads elsewhere then: it has to be made and opened again.
  static Result<std::optional<DirectoryInUse>> lock(const std::string& path, Fd directory);
  DirectoryInUse(DirectoryInUse&&) = default;
  DirectoryInUse& operator=(DirectoryInUse&&) = delete;
  DirectoryInUse(const DirectoryInUse&) = delete;
  DirectoryInUse& operator=(const DirectoryInUse&) = delete;
  ~DirectoryInUse();

  [[nodiscard]] int get() const { return directory_.get(); }

 private:
  DirectoryInUse(std::string path, Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  Fd directory_;
};

}  // namespace cordon
