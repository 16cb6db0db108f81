// From the arguments of a call to a run that can be started: what run_code and start_process have
// in common. Nothing is started here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "faces/mcp/tools/answer.h"
#include "faces/mcp/tools/tool_context.h"
#include "policy/host_facts.h"

namespace cordon::mcp {

// The file that CORDON_ENV_FILE (or ENTRABOT_ENV_FILE) names: variables for a server whose host
// starts it without any. Never a file that merely lies in a project.

// One NAME=value per line, split at the first '=', blanks around both removed; empty lines and
// lines that begin with '#' are skipped. What is no assignment is an error with its line.
Result<std::map<std::string, std::string>> read_env_lines(std::string_view text,
                                                          const std::string& file);
// Adds to this process's environment what is not set there yet. Its path, or nothing if no file is
// named. Call it before any thread is started.
Result<std::string> load_env_file(const Caller& caller);

// A request with everything its answer needs.
struct RunRequest {
  Caller caller;
  CallCeilings bounds;
  RequestedRun wish;  // without what was refused
  NodeList refused;   // entries of not_granted: what was not even asked for
  RunInput input;
};

// `unattended_wall_ms` bounds a run if neither the caller nor a ceiling does. The other alternative
// is the answer to a call that was refused, which is recorded.
std::variant<RunRequest, ToolResult> run_request(ToolContext& context, const Call& call,
                                                 const std::string& tool,
                                                 std::uint64_t unattended_wall_ms);
// Whether it asks for less than all that is permitted.
CallKind kind_of(const RunRequest& request);
inline constexpr std::uint64_t kDefaultWallMs = 30'000;

// The answer for a command that was not started.
ToolResult answer_not_started(const ToolContext& context, const RunRequest& request,
                              const Report& report);

}  // namespace cordon::mcp
