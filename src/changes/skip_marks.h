// In a clone, a linked worktree or a submodule that a run made, what was moved out of it is marked
// skip-worktree in its index, so that the next commit of everything does not delete it
// (run/held_run.h). When the person takes such a file, it is there again and the mark has to go:
// else git would hide from them whatever becomes of it. When they undo that, it comes back.
//
// The run may have written the repository. Its index is read by Cordon's own strict reader, no git
// is run, and a `.git` file is followed only to a git directory that names this work tree in turn:
// a planted one must not have Cordon change the index of another repository.
#pragma once

#include <vector>

#include "changes/manifest.h"
#include "policy/host_facts.h"

namespace cordon {

// For records that were added by a run and are applied now, or were applied in `before`.
void follow_in_indexes(const std::vector<ChangeRecord>& before,
                       const std::vector<ChangeRecord>& now, const Caller& caller);

}  // namespace cordon
