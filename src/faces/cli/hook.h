// The judgement of `cordon hook`: from the message that an agent host sends before it uses a tool
// to the answer that makes a call of its shell a contained one. Pure: what it reads and writes are
// texts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon {

// The hosts whose hooks may change a call. One that can only permit or refuse it is none: what it
// permits runs as it came.
enum class HookHost { Claude, Codex, Copilot, Gemini };

// The process that asked for this one to be started: the nearest ancestor that is neither a shell
// nor another program that only starts one. Hosts start what they run through them, and end without
// ending it if they are killed.
std::optional<std::uint64_t> asking_process();

// `contain` is a command line that runs what is appended to it inside a sandbox:
// {"/usr/bin/cordon", "run", ..., "--"}. Answers with the JSON for standard output; empty if the
// tool is none that runs commands. An error means that the call must not happen.
//
// A command is wrapped whatever it says, also one that begins with "cordon run": a prefix says
// nothing about what follows it (`cordon run -- true; curl ...`). Cordon inside Cordon is refused
// there, by the inner one.
Result<std::string> judge_host_call(HookHost host, std::string_view message,
                                    std::span<const std::string> contain);

// Why `cordon hook` has no word for an agent host that may have hooks; nothing of any other word.
std::optional<Error> no_hook_for(std::string_view host);

}  // namespace cordon
