// The judgement of `cordon hook claude`: from one PreToolUse message of Claude Code to the answer
// that makes its shell call a contained one. Pure: what it reads and writes are texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon {

// `contain` is a command line that runs what is appended to it inside a sandbox:
// {"/usr/bin/cordon", "run", ..., "--"}. Answers with the JSON for standard output; empty if the
// tool is none that runs commands. An error means that the call must not happen.
//
// A Bash command is wrapped whatever it says, also one that begins with "cordon run": a prefix says
// nothing about what follows it (`cordon run -- true; curl ...`). Cordon inside Cordon is refused
// there, by the inner one.
Result<std::string> judge_claude_call(std::string_view message,
                                      std::span<const std::string> contain);

}  // namespace cordon
