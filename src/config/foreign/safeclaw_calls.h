// The lists of system calls that policies for SafeClaw's helper are made with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

enum class SafeClawProfile {
  Default,         // its helper's own 27: enough for a static program that opens no file
  MinimalDynamic,  // these, and what loading a dynamic program takes
  Development,     // compilers, interpreters, git, tar
};
std::optional<SafeClawProfile> parse_safeclaw_profile(std::string_view word);

// Names of both architectures: the helper knows which of them mean another call here.
std::vector<std::string> safeclaw_calls(SafeClawProfile profile);

}  // namespace cordon
