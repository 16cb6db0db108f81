// Tools that this server could have and has not, since its profile, its environment or its ceilings
// leave them out. A model that calls one has seen it elsewhere: it is told what switches the tool
// on, as of a tool that no server has it is not.
#pragma once

#include <memory>

#include "faces/mcp/registry.h"
#include "faces/mcp/tools/tool_context.h"
#include "faces/mcp/tools/tools.h"

namespace cordon::mcp {

enum class ToolProfile { Basic, Full };

// After the tools of that profile. A call of one that is left out is recorded as refused.
void add_switched_off(Registry& registry, ToolProfile profile, const Switches& switches,
                      const std::shared_ptr<ToolContext>& context);

}  // namespace cordon::mcp
