// The rights of Landlock that an access of a policy stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/foreign/safeclaw_policy.h"

namespace cordon::apply {

enum class Target { Directory, File };

// Only rights that `abi` knows, and for a file only those that a file can have.
std::uint64_t rights_of(SafeClawAccess access, Target target, int abi);
// "READ_FILE", …
std::vector<std::string> right_names(std::uint64_t rights);

// The oldest that withholds truncating: before it a file that may only be read could be emptied.
inline constexpr int kOldestAbi = 3;

}  // namespace cordon::apply
