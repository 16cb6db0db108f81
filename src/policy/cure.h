// Cures: the line that makes a ceiling permit something, written out whole, with what its list has
// already. Each is one clause that can be followed to the letter: "below [fs] in FILE: write =
// [...]" for a file, "set CORDON_SANDBOX_...=..." for the ceiling of the environment. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/effective.h"
#include "policy/limit_fields.h"
#include "policy/path_modes.h"

namespace cordon {

// "the ceiling /etc/cordon/ceiling.toml".
std::string title_of(const Ceiling& ceiling);

// A read rule for the path or for something in it would overrule a write rule, so it is taken out.
std::string cure_for_path(const ResolvedCeiling& ceiling, const std::string& path, PathMode mode);
// "@system" or "@toolchains".
std::string cure_for_group(const Ceiling& ceiling, std::string_view group);
std::string cure_for_host(const Ceiling& ceiling, const HostRule& host);
std::string cure_for_open_network(const Ceiling& ceiling);
std::string cure_for_variable(const Ceiling& ceiling, const std::string& name);
std::string cure_for_limit(const Ceiling& ceiling, const LimitField& field, std::uint64_t value);
std::string cure_for_scratch(const Ceiling& ceiling, std::uint64_t bytes);

}  // namespace cordon
