// From the arguments of a call to a run that can be started: what run_code and start_process have
// in common. Nothing is started here.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "mcp/tools/answer.h"
#include "mcp/tools/toolbox.h"

namespace cordon::mcp {

// A request with everything its answer needs.
struct RunRequest {
  Caller caller;
  Bounds bounds;
  RunWish wish;      // without what was refused
  NodeList refused;  // entries of not_granted: what was not even asked for
  RunInput input;
};

// `unattended_wall_ms` bounds a run if neither the caller nor a ceiling does. The other alternative
// is the answer to a call that was refused, which is recorded.
std::variant<RunRequest, ToolResult> run_request(Toolbox& toolbox, const Call& call,
                                                 const std::string& tool,
                                                 std::uint64_t unattended_wall_ms);
inline constexpr std::uint64_t kDefaultWallMs = 30'000;

// The answer for a command that was not started.
ToolResult answer_not_started(const Toolbox& toolbox, const std::string& tool,
                              const Report& report);

}  // namespace cordon::mcp
