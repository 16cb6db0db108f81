// A server made of the protocol library and nothing else, for the tests of that library.
#pragma once

#include "faces/mcp/call.h"
#include "faces/mcp/registry.h"

namespace cordon::mcp {

// The names that the official conformance suite looks for.
void add_suite_tools(Registry& registry);
void add_suite_questions(Registry& registry);
void add_suite_sources(Registry& registry);
// What the scripted robustness cases need. `changed` is called by a tool that changes a resource.
void add_probe_tools(Registry& registry, std::function<void(const std::string&)> changed);

// {"type": "object", "properties": {...}, "required": [...], "additionalProperties": false} from
// JSON text of the properties.
Node object_schema(std::string_view properties, const std::vector<std::string>& required);
Tool plain_tool(std::string name, std::function<ToolResult(Call&)> handler);
// Waits, or returns early when the call is cancelled.
void pause(const Call& call, int milliseconds);

}  // namespace cordon::mcp
