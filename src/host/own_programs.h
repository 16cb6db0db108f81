// Cordon's own programs: what a contained program must not replace, since they are started next.
#pragma once

#include <string>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

// Whichever of them the caller runs, the others beside it too; absolute.
std::vector<std::string> own_programs(const Caller& caller);

}  // namespace cordon
