// What of git stands still for a run in an overlay.
//
// The host goes on working in the project that lies below the overlay: the person commits, and
// commits of other runs arrive. Git expects that of nobody who holds no lock, and the kernel
// promises little about it: a name that was once looked up through the overlay is seen for as long
// as it is remembered, also when it is gone. Two things would follow:
//
//   - One look while the host's git held index.lock, and git inside finds the lock for the rest of
//     the run and stops at it.
//   - An index that was read before a commit arrived, and a branch that was read after: a commit on
//     top of both undoes what arrived, and merges without a conflict.
//
// So a small layer lies between the two, N/steady. For each repository it hides the names of the
// host's locks, and holds HEAD and the branch that is checked out as they were when the stage
// began. The index is not steady: one that is younger than the branch has what arrived as staged
// besides, which is the same on both sides when they are merged.
#pragma once

#include <string_view>
#include <vector>

#include "changes/stage.h"
#include "cordon/result.h"

namespace cordon {

// Makes root.steady. A file system that cannot keep the mark of a name that is gone gets none: it
// carries no overlay either, and that is told when the overlay is tried.
Result<void> keep_git_steady(const StagedRoot& root,
                             const std::vector<StagedRepository>& repositories);

// Whether git uses the name, in a git directory, as a lock of its own.
bool is_git_lock(std::string_view name);

}  // namespace cordon
