// post_run_scan: after the process tree is dead, one walk by name finds what a run made appear.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cordon/outcome.h"
#include "host/kept_files.h"
#include "host/survey.h"

namespace cordon {

// Moves held names that were not there before out of the writable trees into
// `handoff_directory`/RUN_ID/ (made 0700 on first use), reports the others. Everything is
// descriptor-relative and follows no symlink; FIFOs, sockets and devices are moved like files.
// What was `kept` because nothing could hold it is put back first; `before` does not know it. A
// writable directory that is among `roots` is searched as the object that it was, wherever it is
// now; if something else answers to its name, that is named as unchecked. `git_directories` gets
// every git directory that is in the trees now, with those of submodules and worktrees.
Result<std::vector<Quarantined>> post_run_scan(const std::vector<Grant>& writable,
                                               const std::vector<DenyGlob>& deny,
                                               const Caller& caller, const TreeSnapshot& before,
                                               const std::string& handoff_directory,
                                               const std::string& run_id, KeptFiles* kept = nullptr,
                                               std::span<const SearchRoot> roots = {},
                                               std::set<std::string>* git_directories = nullptr);

}  // namespace cordon
