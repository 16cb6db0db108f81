// `cordon apply`: SafeClaw's helper. Reads a policy, puts its layers on this process and becomes
// the command. It is the inner layer: what Landlock cannot hold is refused or an outer layer's.
#pragma once

#include <span>

namespace cordon::apply {

// All words, the program's name first. Returns the exit status of a refusal, or of --dry-run.
int apply_main(std::span<char* const> words, char* const* environment);

}  // namespace cordon::apply
