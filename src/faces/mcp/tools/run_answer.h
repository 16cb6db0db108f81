// What run_code answers for a command that was started: how it ended, its output as far as there is
// room, what it was not given and how it was held.
#pragma once

#include <cstddef>
#include <string>

#include "faces/mcp/call.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "faces/mcp/tools/excerpt.h"
#include "faces/mcp/tools/secret_mask.h"

namespace cordon::mcp {

// What a server that keeps its runs adds to an answer.
struct RunHandle {
  std::string id;  // empty: it is not kept
  std::size_t room = kResultBytes;
};
// `refused` are the paths that were not even asked for.
ToolResult answer_run(const Report& report, const RequestedRun& wish, NodeList refused,
                      const CallCeilings& bounds, const SecretMask& mask,
                      const RunHandle& handle = {});

}  // namespace cordon::mcp
