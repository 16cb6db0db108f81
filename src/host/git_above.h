// What git outside reads and runs from places that a walk of the grants cannot know: a repository
// above a grant and the caller's own configuration name files that may lie inside it.
#pragma once

#include <string>
#include <vector>

#include "host/git_identity.h"
#include "policy/host_facts.h"

namespace cordon {

// Targets of core.hooksPath and of includes in the nearest repository above `directory`, absolute,
// unresolved.
std::vector<std::string> referenced_above(const std::string& directory, const Caller& caller,
                                          const UserGit& user);

}  // namespace cordon
