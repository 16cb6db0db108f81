// sandbox-exec: the program of macOS that loads a profile and becomes a command.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cordon::seatbelt {

// `command` starts with a path. The profile is on the command line, where whoever lists processes
// sees the paths in it.
std::vector<std::string> sandboxed(const std::string& program, const std::string& profile,
                                   const std::vector<std::string>& command);

// Tries it: what a profile permits happens, and what it denies does not. A program that is merely
// there, that hangs, or that runs a command unconfined is an error.
Result<void> check_sandbox_exec(const std::string& program);

}  // namespace cordon::seatbelt
