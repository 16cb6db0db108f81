// explain_denial and get_limits: what stopped something, and within which bounds there is to work.
#include "mcp/full/full_tools.h"
#include "mcp/full/limits_view.h"
#include "mcp/full/process_answer.h"
#include "mcp/full/recorded_call.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

// A process may have met its limits after the call that started it was answered.
std::optional<Verdict> verdict_of(const Workbench& bench, const Call& call, const std::string& id) {
  const auto process = bench.processes.find(id, call.client());
  if (process == nullptr) return std::nullopt;
  const ProcessStatus status = process->status();
  Node told{NodeMap{}};
  add_status(told, status);
  if (!status.running && status.report->outcome) add_account(told, *status.report);
  NodeList refused = process->request().refused;
  if (!refused.empty()) told.set("not_granted", std::move(refused));
  return Verdict{process->request().input.asker.tool, without(told, "name")};
}

}  // namespace

ToolResult explain_denial(Workbench& bench, Call& call) {
  auto begun = RecordedCall::begin(*bench.toolbox, call, "explain_denial");
  if (auto* refused = std::get_if<ToolResult>(&begun)) return std::move(*refused);
  auto& recorded = std::get<RecordedCall>(begun);
  const std::string id = text_argument(call, "id");
  auto verdict = bench.verdicts.find(id);
  if (!verdict) verdict = verdict_of(bench, call, id);
  if (!verdict) {
    return recorded.failed({"Unknown id", "nothing that was denied has this id, or it is forgotten",
                            "Give the audit_id, run_id or process_id of an answer of this server.",
                            "InvalidArguments"});
  }
  Node node = explained(*verdict);
  Node answer{NodeMap{}};
  answer.set("success", true);
  if (const NodeMap* members = node.map()) {
    for (const auto& [name, value] : *members) answer.set(name, value);
  }
  return recorded.done(std::move(answer));
}

ToolResult get_limits(Workbench& bench, Call& call) {
  auto begun = RecordedCall::begin(*bench.toolbox, call, "get_limits");
  if (auto* refused = std::get_if<ToolResult>(&begun)) return std::move(*refused);
  auto& recorded = std::get<RecordedCall>(begun);
  auto view = limits_view(recorded.bounds(), bench.tool_names);
  if (!view) {
    bench.toolbox->tell_operator("get_limits", view.error());
    return recorded.failed(fault_of(view.error()));
  }
  Node answer{NodeMap{}};
  answer.set("success", true);
  if (const NodeMap* members = view->map()) {
    for (const auto& [name, value] : *members) answer.set(name, value);
  }
  return recorded.done(std::move(answer));
}

}  // namespace cordon::mcp
