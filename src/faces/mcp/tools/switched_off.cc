#include "faces/mcp/tools/switched_off.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "faces/mcp/tools/answer.h"
#include "host/resolve.h"

namespace cordon::mcp {
namespace {

struct KnownTool {
  std::string_view name;
  ToolProfile profile;  // the smaller one that has it
};

// Every tool there is (a test compares it with what servers list).
constexpr std::array<KnownTool, 16> kKnownTools{{
    {"run_code", ToolProfile::Basic},
    {"read_local_file", ToolProfile::Basic},
    {"write_local_file", ToolProfile::Basic},
    {"unsafe_write_local_file", ToolProfile::Basic},
    {"start_process", ToolProfile::Full},
    {"read_output", ToolProfile::Full},
    {"write_stdin", ToolProfile::Full},
    {"stop_process", ToolProfile::Full},
    {"list_processes", ToolProfile::Full},
    {"edit_local_file", ToolProfile::Full},
    {"list_files", ToolProfile::Full},
    {"search_files", ToolProfile::Full},
    {"workspace_diff", ToolProfile::Full},
    {"explain_denial", ToolProfile::Full},
    {"get_limits", ToolProfile::Full},
    {"request_access", ToolProfile::Full},
}};

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : ", and ").append(part);
  return text;
}

ToolFault fault_for(const KnownTool& tool, ToolProfile profile, const Switches& switches) {
  std::vector<std::string> reasons;
  std::vector<std::string> changes;
  if (tool.profile == ToolProfile::Full && profile == ToolProfile::Basic) {
    reasons.emplace_back("the profile basic does not have it");
    changes.emplace_back("starts the server with --profile full");
  }
  const bool unsafe = tool.name == "unsafe_write_local_file";
  if (unsafe ? !switches.unsafe_write : !switches.run_code) {
    const std::string variable = unsafe ? "CORDON_ENABLE_UNSAFE_WRITE" : "CORDON_ENABLE_RUN_CODE";
    reasons.push_back(variable + " is not 1");
    changes.push_back("sets " + variable + "=1 in the environment of the server");
  }
  // Of a server that has the tool otherwise: whether a ceiling has an [ask] was looked up.
  if (tool.name == "request_access" && reasons.empty()) {
    reasons.emplace_back("no ceiling says below [ask] what may be asked for");
    changes.emplace_back(
        "writes into the ceiling what may be asked for, below [ask], and starts the server anew");
  }
  return {"Tool switched off", std::string(tool.name) + " is switched off: " + joined(reasons),
          "To have it, the operator " + joined(changes) +
              ". Tell the user; until then calling it again will not help.",
          "ToolSwitchedOff"};
}

}  // namespace

void add_switched_off(Registry& registry, ToolProfile profile, const Switches& switches,
                      const std::shared_ptr<ToolContext>& context) {
  for (const KnownTool& known : kKnownTools) {
    if (registry.find_tool(known.name) != nullptr) continue;
    const ToolFault fault = fault_for(known, profile, switches);
    Tool tool;
    tool.name = known.name;
    tool.handler = [context, name = tool.name, fault](Call& call) {
      std::optional<std::string> audit_id;
      if (const auto caller = identify_caller()) {
        audit_id = context->refuse(*caller, call, name, policy_error(fault.message));
      }
      return answer_fault(fault, audit_id);
    };
    registry.switched_off.push_back(std::move(tool));
  }
}

}  // namespace cordon::mcp
