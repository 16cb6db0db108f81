// The environment form of a ceiling: CORDON_SANDBOX_READONLY_PATHS, _READWRITE_PATHS, _TIMEOUT_MS,
// _NETWORK; the ENTRABOT_ spelling of each is accepted and the CORDON_ one wins.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cordon/policy.h"

namespace cordon {

enum class PathListStyle { Posix, Windows };  // ':' or ';', drive letters survive

std::vector<std::string> split_path_list(std::string_view text, PathListStyle style);

// Nothing if none of the variables is set. Once any is set the others take their defaults: no
// paths, 30000 ms, block. Malformed values, relative entries and a writable root are errors.
Result<std::optional<Ceiling>> environment_ceiling(
    const std::map<std::string, std::string>& environment);

}  // namespace cordon
