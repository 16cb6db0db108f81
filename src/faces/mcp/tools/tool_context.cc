#include "faces/mcp/tools/tool_context.h"

#include <algorithm>
#include <array>
#include <utility>

#include "faces/mcp/call.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "faces/mcp/tools/tools.h"
#include "host/git/layout.h"
#include "host/resolve.h"
#include "policy/approval.h"
#include "policy/names.h"
#include "run/run_record.h"

namespace cordon::mcp {
namespace {

bool may_ask(const std::vector<Ceiling>& ceilings) {
  return std::ranges::any_of(ceilings, has_requestable);
}

}  // namespace

ToolContext::ToolContext(ToolContextOptions options, audit::Recorder& recorder, SecretMask mask)
    : options_(std::move(options)),
      recorder_(recorder),
      mask_(std::move(mask)),
      sessions_(options_.sharing, options_.tell) {}

Report ToolContext::run(const std::weak_ptr<Client>& client, const CallCeilings& bounds,
                        const RunInput& input, const Caller& caller, CallKind kind) {
  Report report = sessions_.run(client, bounds, input, caller, kind);
  if (report.audit && report.audit->unkept) tell_operator("audit", *report.audit->unkept);
  return report;
}

Result<CallCeilings> ToolContext::bounds(const Caller& caller, const Call& call) {
  auto found = read_call_ceilings(caller, options_.ceiling_files, options_.hidden);
  // A ceiling that cannot be read may have said anything: the strictest holds.
  recorder_.choose(found ? audit_choice(found->ceilings) : AuditChoice{});
  if (found) {
    found->can_ask = options_.can_ask && may_ask(found->ceilings) && call.client()->is_alone();
    add_approved(*found, *approvals(call));
  }
  return found;
}

std::function<Result<std::vector<Ceiling>>()> ToolContext::ceilings_now(const Caller& caller,
                                                                        const Call& call) {
  return [caller, files = options_.ceiling_files,
          approvals = approvals(call)]() -> Result<std::vector<Ceiling>> {
    CORDON_TRY(bounds, read_call_ceilings(caller, files, {}));
    // What a person approved counts as long as it lives and the ceiling still lets it be asked for.
    for (const LiveApproval& live : approvals->live()) {
      if (live.approval.kind != Approval::Kind::Net) continue;
      for (Ceiling& ceiling : bounds.ceilings) admit_host(ceiling, live.approval.host);
    }
    return std::move(bounds.ceilings);
  };
}

void ToolContext::add_approved(CallCeilings& bounds, Approvals& approvals) const {
  for (LiveApproval& live : approvals.live()) {
    CallCeilings alone = bounds;
    alone.approve(live);
    if (permits_whole(alone, policy_for(bounds, live.approval))) {
      bounds.approve(std::move(live));
      continue;
    }
    approvals.withdraw(live.approval.id);
    if (options_.tell) {
      options_.tell(
          "request_access: " + live.approval.id +
          " has ended: the ceilings no longer let it be asked for, or its object is gone");
    }
  }
}

void end_with_approvals(Policy& policy, const CallCeilings& bounds) {
  if (const auto left = approved_time(bounds, policy)) {
    policy.limits.wall_ms = std::min(policy.limits.wall_ms.value_or(*left), *left);
  }
}

RunInput ToolContext::input(const CallCeilings& bounds, const Call& call, std::string tool) const {
  RunInput input;
  input.ceilings = std::vector<Ceiling>(bounds.ceilings);
  input.approved = approvals_of(bounds);
  // One that cannot be looked up refuses the run there, with its own words.
  if (auto resolved = bounds.resolved()) input.resolved_ceilings = std::move(*resolved);
  input.describe_policy = false;
  input.asker = {std::move(tool), call_id(call), {}};
  input.recorder = &recorder_;
  input.cancel = call.cancel();
  input.backend = options_.backend;
  input.backends = options_.backends;
  input.tell_choice = [this](const std::string& line) { tell_choice(line); };
  return input;
}

void ToolContext::tell_choice(const std::string& line) const {
  {
    const std::lock_guard<std::mutex> guard(choice_mutex_);
    if (std::exchange(told_choice_, line) == line) return;
  }
  if (options_.tell) options_.tell(line);
}

std::optional<std::string> ToolContext::refuse(const Caller& caller, const Call& call,
                                               const std::string& tool, const Error& error) {
  RunInput input;
  input.asker = {tool, call_id(call), {}};
  input.recorder = &recorder_;
  tell_operator(tool, error);
  const auto mark = record_refusal(input, caller, error);
  if (!mark || mark->event_id.empty()) return std::nullopt;
  return mark->event_id;
}

void ToolContext::tell_operator(const std::string& tool, const Error& error) const {
  std::string line = tool + ": " + message(error);
  if (!error.hint.empty()) line.append("; ").append(error.hint);
  if (options_.tell) options_.tell(line);
}

std::string text_argument(const Call& call, std::string_view name) {
  const std::string* text = text_member(call.arguments(), name);
  if (text == nullptr) return {};
  return *text;
}

std::vector<std::string> texts_of(const Node* list) {
  std::vector<std::string> texts;
  const NodeList* items = list != nullptr ? list->list() : nullptr;
  if (items == nullptr) return texts;
  for (const Node& item : *items) {
    if (const std::string* text = item.text()) texts.push_back(*text);
  }
  return texts;
}

std::string call_id(const Call& call) {
  if (const auto* number = std::get_if<std::int64_t>(&call.id())) return std::to_string(*number);
  const auto* text = std::get_if<std::string>(&call.id());
  if (text == nullptr) return {};
  return *text;
}

namespace {

bool is_on(const std::map<std::string, std::string>& environment, std::string_view name) {
  constexpr std::array<std::string_view, 2> kPrefixes{"CORDON_", "ENTRABOT_"};
  for (const std::string_view prefix : kPrefixes) {
    const auto found = environment.find(std::string(prefix).append(name));
    if (found != environment.end()) return found->second == "1";
  }
  return false;
}

}  // namespace

Switches read_switches(const std::map<std::string, std::string>& environment) {
  return {is_on(environment, "ENABLE_RUN_CODE"), is_on(environment, "ENABLE_UNSAFE_WRITE")};
}

ProtectionBound protection_bound_of(const CallCeilings& bounds, const std::string& canonical,
                                    RequestedAccess wish) {
  const auto resolved = bounds.resolved();
  if (!resolved) return ProtectionBound::Denied;
  ProtectionBound strictest = ProtectionBound::None;
  for (const ResolvedCeiling& ceiling : *resolved) {
    strictest = std::max(strictest, cordon::protection_bound_of(ceiling, canonical));
  }
  // A file tool is granted the directory of the file alone, from which the repository around it is
  // not seen.
  HeldPlaces places;
  places.git = git_directories_above(canonical);
  if (is_in_git_part(canonical, places))
    strictest = std::max(strictest, ProtectionBound::Protected);
  if (wish == RequestedAccess::Read && strictest == ProtectionBound::Protected)
    return ProtectionBound::None;
  return strictest;
}

Node typed(std::string_view type, std::string_view description) {
  Node node{NodeMap{}};
  node.set("type", type);
  if (!description.empty()) node.set("description", description);
  return node;
}

Node text_schema(std::string_view description, int least, int most) {
  return typed("string", description).set("minLength", least).set("maxLength", most);
}

Node list_schema(std::string_view description, int least, int most, int longest) {
  return typed("array", description)
      .set("items", text_schema("", 0, longest))
      .set("minItems", least)
      .set("maxItems", most);
}

Node closed_object(NodeMap properties, NodeList required) {
  return typed("object", "")
      .set("properties", std::move(properties))
      .set("required", std::move(required))
      .set("additionalProperties", false);
}

}  // namespace cordon::mcp
