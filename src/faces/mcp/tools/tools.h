// The tools of the profile `basic`. docs/mcp.md describes their inputs and answers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "faces/mcp/registry.h"
#include "faces/mcp/tools/tool_context.h"

namespace cordon::mcp {

// Which tools the operator switched on: CORDON_ENABLE_RUN_CODE and CORDON_ENABLE_UNSAFE_WRITE, or
// entrabot's spelling with ENTRABOT_. Exactly "1" switches on, anything else is off.
struct Switches {
  bool run_code = false;  // the file tools come with it
  bool unsafe_write = false;
};
Switches read_switches(const std::map<std::string, std::string>& environment);

void add_tools(Registry& registry, const Switches& switches,
               const std::shared_ptr<ToolContext>& context);

// One for each; `arguments` are those of the schema.
ToolResult run_code(ToolContext& context, Call& call);
ToolResult read_local_file(ToolContext& context, const Call& call);
ToolResult write_local_file(ToolContext& context, const Call& call);
ToolResult unsafe_write_local_file(ToolContext& context, const Call& call);
// The same if the path still leads to this place, the one that was approved.
ToolResult unsafe_write_to(ToolContext& context, const Call& call, const std::string& canonical);

// What these tools say about themselves, for profiles that have more of them.
std::string run_text();
std::string read_text();
std::string write_text();
NodeMap run_properties();  // of run_code's arguments
Tool unsafe_tool();        // without its handler
Node always_loaded();      // for hosts that hide tools until they are searched for
Node needs_a_person();     // the same, for hosts that can insist on one
// Registers a tool whose bad arguments are answered and recorded.
void add_tool(Registry& registry, const std::shared_ptr<ToolContext>& context, Tool tool,
              std::function<ToolResult(Call&)> handler);

// What the server tells a client about itself.
std::string instructions(const CallCeilings& bounds);
// Of it, for every profile: the workspace, what may be done there, and the network, as they are
// when the server starts.
std::string bounds_instructions(const CallCeilings& bounds);
// Of it, for every profile: what access means, and what to make of a denial.
std::string_view access_instructions();

}  // namespace cordon::mcp
