#include "mcp/full/recorded_call.h"

#include "host/resolve.h"

namespace cordon::mcp {

RecordedCall::RecordedCall(Toolbox& toolbox, std::string tool, Bounds bounds,
                           audit::Recorder::Ticket ticket)
    : toolbox_(&toolbox),
      tool_(std::move(tool)),
      bounds_(std::move(bounds)),
      ticket_(std::move(ticket)) {}

std::variant<RecordedCall, ToolResult> RecordedCall::begin(Toolbox& toolbox, const Call& call,
                                                           const std::string& tool) {
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  auto bounds = toolbox.bounds(*caller);
  if (!bounds) {
    return answer_fault(fault_of(bounds.error()),
                        toolbox.refuse(*caller, call, tool, bounds.error()));
  }
  audit::Action action;
  action.name = tool;
  return begin(toolbox, call, std::move(*bounds), action);
}

std::variant<RecordedCall, ToolResult> RecordedCall::begin(Toolbox& toolbox, const Call& call,
                                                           Bounds bounds, audit::Action action) {
  const auto unrecorded = [&](const Error& error) {
    toolbox.tell_operator(action.name, error);
    return answer_fault(fault_of(error), std::nullopt);
  };
  const auto redactor = toolbox.recorder().redactor(bounds.caller);
  if (!redactor) return unrecorded(redactor.error());
  action.tool = action.name;
  action.tool_call_id = call_id(call);
  action.cwd = bounds.caller.cwd;
  action.ceilings = bounds.ceilings;
  const std::vector<Approval> approved = approvals_of(bounds);
  action.approved = approved;
  auto ticket = toolbox.recorder().begin(redactor->pending(action));
  if (!ticket) return unrecorded(ticket.error());
  return RecordedCall(toolbox, action.name, std::move(bounds), std::move(*ticket));
}

void RecordedCall::close(audit::Ending ending) {
  audit::Closing closing;
  closing.ending = ending;
  if (ending == audit::Ending::Refused) closing.error_kind = ErrorKind::Usage;
  if (const auto closed = toolbox_->recorder().close(ticket_, closing); !closed) {
    toolbox_->tell_operator(tool_, closed.error());
  }
}

ToolResult RecordedCall::done(Node node) {
  close(audit::Ending::Success);
  node.set("audit_id", ticket_.receipt.event_id);
  return answer_node(node, false);
}

ToolResult RecordedCall::failed(const ToolFault& fault) {
  close(audit::Ending::Refused);
  return answer_fault(fault, ticket_.receipt.event_id);
}

}  // namespace cordon::mcp
