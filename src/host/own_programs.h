// Cordon's own programs: what a contained program must not replace, since they are started next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"
#include "policy/host_facts.h"

namespace cordon {

// Where one of the programs may lie when another lies in `directory`: beside it, as they are built;
// and, if that is a directory they are installed in, in the other one of the two.
std::vector<std::string> own_places(std::string_view directory, std::string_view name);

// Whichever of them the caller runs, the others too, in each of their places; absolute.
std::vector<std::string> own_programs(const Caller& caller);

// The one that is there, of the programs the caller's belongs to.
Result<std::string> own_program(const Caller& caller, std::string_view name);

}  // namespace cordon
