#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/resolve.h"
#include "mcp/tools/answer.h"
#include "mcp/tools/file_inside.h"
#include "mcp/tools/tools.h"

namespace cordon::mcp {
namespace {

constexpr const char* kTool = "unsafe_write_local_file";
constexpr std::string_view kWarning =
    "written without a sandbox, with the full authority of the server";

audit::Closing closing_of(int failed) {
  audit::Closing closing;
  closing.ending = failed == 0 ? audit::Ending::Success : audit::Ending::Exit;
  closing.exit_code = failed;
  return closing;
}

ToolFault fault_of_errno(int failed) {
  const bool denied = failed == EACCES || failed == EPERM || failed == EROFS;
  return {denied ? "Permission denied" : "Write failed", std::strerror(failed),
          "The system refused; nothing was changed.", "SandboxExecutionError"};
}

ToolResult unsafe_write(Toolbox& toolbox, const Call& call,
                        const std::optional<std::string>& approved) {
  const std::string path = text_argument(call, "path");
  const std::string content = text_argument(call, "content");
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  const auto place = canonicalize(path, caller->cwd, *caller);
  if (!place) {
    const ToolFault fault{"Write failed", "the path cannot be resolved", "Name another path.",
                          "SandboxPolicyError"};
    return answer_fault(fault, toolbox.refuse(*caller, call, kTool, place.error()));
  }
  if (approved && *approved != place->path) {
    const Error error = policy_error("the path leads elsewhere than what was approved");
    const ToolFault fault{"Write failed", error.what, "Ask again.", "SandboxDeniedError"};
    return answer_fault(fault, toolbox.refuse(*caller, call, kTool, error));
  }
  const auto refused = [&](const Error& error) {
    toolbox.tell_operator(kTool, error);
    return answer_fault(fault_of(error), std::nullopt);
  };
  // Also read here: they say what becomes of an action that cannot be recorded.
  if (const auto bounds = toolbox.bounds(*caller); !bounds) return refused(bounds.error());
  const auto redactor = toolbox.recorder().redactor(*caller);
  if (!redactor) return refused(redactor.error());
  audit::Action action;
  action.name = kTool;
  action.tool = kTool;
  action.tool_call_id = call_id(call);
  action.cwd = caller->cwd;
  action.path = place->path;
  const auto ticket = toolbox.recorder().begin(redactor->pending(action));
  if (!ticket) return refused(ticket.error());
  const int failed = put_file(place->path, content, std::nullopt);
  if (const auto closed = toolbox.recorder().close(*ticket, closing_of(failed)); !closed) {
    toolbox.tell_operator(kTool, closed.error());
  }
  Node node{NodeMap{}};
  node.set("success", failed == 0).set("path", sanitize(path.substr(0, 1024)));
  if (failed != 0) {
    add_fault(node, fault_of_errno(failed));
  } else {
    node.set("bytes_written", content.size());
  }
  node.set("warning", kWarning).set("audit_id", ticket->receipt.event_id);
  return answer_node(node, failed != 0);
}

}  // namespace

ToolResult unsafe_write_local_file(Toolbox& toolbox, const Call& call) {
  return unsafe_write(toolbox, call, std::nullopt);
}

ToolResult unsafe_write_to(Toolbox& toolbox, const Call& call, const std::string& canonical) {
  return unsafe_write(toolbox, call, canonical);
}

}  // namespace cordon::mcp
