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

// Where the text of a pointer of git's leads, by its words alone, if it is read in `directory`, a
// canonical path. A relative one may lead up first, and what is above has no links in its path;
// anywhere else `..` may lead back from where a link led: then it is empty.
std::string place_of_pointer(std::string_view text, std::string_view directory);

}  // namespace cordon
