// A `.git` file at the top of a workspace leads to a git directory elsewhere. It is followed only
// if that directory names this workspace in turn: the pointer lies where a contained program may
// have written it, and following it blindly would let a planted one widen the next run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/resolve.h"

namespace cordon {

struct WorktreePointer {
  std::string written;                 // the gitdir as the pointer spells it
  std::vector<Canonical> directories;  // to be granted: the gitdir and its common directory
  bool leads_back = false;             // false: nothing is granted
};

// Nothing if `directory` has no `.git` file, or if the git directory lies inside `directory`.
std::optional<WorktreePointer> follow_git_file(const std::string& directory, const Caller& caller);

// The path behind "gitdir: " in the text of a `.git` file.
std::optional<std::string> parse_git_file(std::string_view text);

}  // namespace cordon
