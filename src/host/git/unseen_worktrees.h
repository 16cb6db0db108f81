// Linked worktrees that the command does not see, because they lie outside of what is granted or
// are gone.
//
// For each linked worktree the repository has a directory `worktrees/NAME`, with a file `gitdir`
// that says where the work tree is. `git worktree prune`, and `git gc` on its own, remove that
// directory where the work tree is not found. Inside a run none is found that is not granted: git
// would remove what belongs to a worktree the person works in. And where the work tree is really
// gone, git meets files that are mounted, stops, and ends with 0 all the same.
//
// So `worktrees/NAME` of a worktree that is not seen is covered by a private copy as a whole. There
// git can empty it and nothing of the host's is touched; after the run it is decided whether the
// removal is finished (changes/removal.h).
//
// The host is looked at only where a grant shows it anyway: a run can write a `gitdir` that names
// any path, and must not learn from the next one whether that path exists.
#pragma once

#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// Fills GitDirectory::unseen. Copies cost time before the launch: there are at most 32 of them, and
// with 4 MiB of index in all. Further ones are pinned and held like those that are seen.
void find_unseen_worktrees(const Effective& effective, HostFacts& facts);

}  // namespace cordon
