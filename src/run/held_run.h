// What a run sees through private copies (changes/private_copies.h): made before the launch,
// compared and kept aside after it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "changes/manifest.h"
#include "changes/private_copies.h"
#include "changes/removal.h"
#include "cordon/outcome.h"
#include "run/line.h"

namespace cordon {

// After the note and before the launch. What cannot be copied is held read-only instead: its
// operation in the plan is replaced, and a reduction says so.
Result<PrivateCopies> copy_held(JudgedRun& run);

// Of records that are about to be held back, the paths that go through all the same. It may split
// records and change their reasons.
using PassRecords = std::function<std::vector<std::string>(std::vector<ChangeRecord>&)>;

// After the last process has ended: keeps aside what the run changed in its copies, and notes
// everything that it did not write for good, `handoff` included. `removal` is null for a run that
// was killed, and `pass` is empty for it.
Result<std::vector<ChangeRecord>> settle_held(const PrivateCopies& copies, Removal* removal,
                                              const std::vector<Quarantined>& handoff,
                                              const std::vector<Grant>& writable,
                                              const Caller& caller, const std::string& run_id,
                                              const PassRecords& pass = {});

// Takes those out of `handoff` of which everything went through: nothing of them is held back.
void forget_passed(std::vector<Quarantined>& handoff, const std::vector<ChangeRecord>& records);

// In a repository, a linked worktree or a submodule that this run made, what was moved out of it is
// marked skip-worktree in its index: else the next commit of everything would delete it. An index
// that cannot be marked is added to `handoff` as unchecked, with the command that marks it.
void mark_moved_in_clones(std::vector<Quarantined>& handoff, const JudgedRun& run);

}  // namespace cordon
