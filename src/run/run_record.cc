#include "run/run_record.h"

#include <csignal>
#include <utility>

#include "audit/project_names.h"
#include "config/node.h"
#include "cordon/runner.h"
#include "policy/agents.h"
#include "policy/names.h"
#include "run/answers.h"

namespace cordon {

RunRecord::RunRecord(const RunInput& input, const Caller& caller,
                     std::unique_ptr<audit::Recorder> own, audit::Recorder& recorder,
                     audit::Redactor redactor)
    : input_(input),
      caller_(caller),
      own_(std::move(own)),
      recorder_(recorder),
      redactor_(std::move(redactor)) {}

Result<RunRecord> RunRecord::open(const RunInput& input, const Caller& caller) {
  std::unique_ptr<audit::Recorder> own;
  audit::Recorder* recorder = input.recorder;
  if (recorder == nullptr) {
    own = std::make_unique<audit::Recorder>(audit::place_of(caller), audit_choice(input.ceilings));
    recorder = own.get();
  }
  CORDON_TRY(redactor, recorder->redactor(caller));
  // Without a log there is nothing to close in it; what matters is told by begin(). A command in a
  // session is no start: the session was one.
  const bool starts = input.session != nullptr || input.asker.session.empty();
  if (starts) (void)recorder->close_lost();
  return RunRecord(input, caller, std::move(own), *recorder, std::move(redactor));
}

audit::Action RunRecord::action() const {
  audit::Action action;
  action.name = input_.asker.tool.empty() ? "run" : input_.asker.tool;
  if (!input_.asker.action.empty()) action.name = input_.asker.action;
  action.tool = input_.asker.tool;
  action.tool_call_id = input_.asker.tool_call_id;
  action.path = input_.asker.path;
  action.session = input_.asker.session;
  action.agent = input_.asker.agent;
  action.conversation = input_.asker.conversation;
  action.cwd = caller_.cwd;
  action.argv = input_.argv;
  action.policy = &input_.policy;
  action.ceilings = input_.ceilings;
  action.approved = input_.approved;
  if (run_ == nullptr) return action;
  action.backend = run_->backend->name();
  action.cwd = run_->request.cwd;
  action.policy_hash = policy_hash_;
  action.effective = &run_->clamped.effective();
  action.reductions = run_->reductions;
  return action;
}

void RunRecord::judged(const JudgedRun& run, const std::string& policy_hash) {
  run_ = &run;
  policy_hash_ = policy_hash;
}

Result<void> RunRecord::begin() {
  state_ = State::Failed;
  CORDON_TRY(ticket, recorder_.begin(redactor_.pending(action())));
  ticket_ = std::move(ticket);
  state_ = State::Begun;
  return {};
}

audit::Pending RunRecord::pending_request(const GateRequest& request) const {
  audit::RequestAction about{request.rule, request.method, request.path, request.secret,
                             ticket_.receipt.event_id};
  audit::Action action;
  action.name = "request";
  action.session = input_.asker.session;
  action.agent = input_.asker.agent;
  action.conversation = input_.asker.conversation;
  action.cwd = run_->request.cwd;
  action.backend = run_->backend->name();
  action.host = request.host;
  action.request = &about;
  return redactor_.pending(action);
}

Result<std::size_t> RunRecord::begin_request(const GateRequest& request) {
  CORDON_TRY(ticket, recorder_.begin(pending_request(request)));
  open_requests_.emplace(++requests_, std::move(ticket));
  return requests_;
}

void RunRecord::end_request(std::size_t begun, const gate::Done& done) {
  const auto open = open_requests_.find(begun);
  if (open == open_requests_.end()) return;
  audit::Closing closing;
  const bool whole = done.status != 0 && !done.ended;
  closing.ending = whole ? audit::Ending::Success : audit::Ending::Cancelled;
  closing.duration_ms = done.ms;
  closing.answer = audit::AnswerMark{done.status, done.sent, done.received};
  // One that cannot be closed stays open, which the next start of any run closes as lost.
  (void)recorder_.close(open->second, closing);
  open_requests_.erase(open);
}

void RunRecord::refuse_request(const GateRequest& request, const std::string& reason) {
  audit::Closing closing;
  closing.ending = audit::Ending::Denied;
  audit::Pending pending = pending_request(request);
  closing.denials.push_back({redactor_.word("request"), redactor_.word("gate"),
                             redactor_.word(reason), 1, pending.request->rule});
  (void)recorder_.refuse(pending, closing);
}

AuditMark RunRecord::close(const audit::Closing& closing) {
  AuditMark mark{ticket_.receipt.event_id, {}, ticket_.unwritten};
  if (auto closed = recorder_.close(ticket_, closing); !closed) {
    mark.unrecorded = std::move(closed).error();
  } else {
    mark.outcome = audit::outcome_of(closing.ending);
    if (auto kept = recorder_.keep_up(); !kept) mark.unkept = std::move(kept).error();
  }
  if (audit::is_own_action(input_.asker.action)) return mark;
  const std::string& place = run_->request.cwd;  // where the command starts
  audit::remember_project(caller_.state_directory, redactor_.place(place).text(), place);
  return mark;
}

AuditMark RunRecord::close(const Outcome& outcome, const std::vector<Change>& changes) {
  return close(redactor_.closing(outcome, changes));
}

std::optional<AuditMark> RunRecord::close(const Error& error) {
  switch (std::exchange(state_, State::NotBegun)) {
    case State::NotBegun:
      return refuse(error);
    case State::Begun:
      return close(audit::Redactor::refusal(error));
    case State::Failed:
      break;
  }
  return std::nullopt;
}

AuditMark RunRecord::refuse(const Error& error) {
  const audit::Closing closing = audit::Redactor::refusal(error);
  auto ticket = recorder_.refuse(redactor_.pending(action()), closing);
  if (!ticket) return {{}, {}, std::move(ticket).error()};
  return {ticket->receipt.event_id, std::string(audit::outcome_of(closing.ending)),
          ticket->unwritten};
}

std::optional<AuditMark> record_refusal(const RunInput& input, const Caller& caller,
                                        const Error& error) {
  auto record = RunRecord::open(input, caller);
  if (!record) return std::nullopt;
  return record->close(error);
}

namespace {

// The published report, cordon.report/1: every key is always present.

Node null() { return {}; }

Node optional_number(const std::optional<std::uint64_t>& number) {
  return number ? Node(*number) : null();
}

struct Ending {
  Node exit_code;
  Node signal;
  bool timed_out = false;
  Node kill_reason;
};

struct DescribeEnd {
  Ending operator()(const Exited& end) const { return {Node(end.code), null(), false, null()}; }
  Ending operator()(const Signaled& end) const {
    return {null(), Node(signal_name(end.signal)), false, Node("signal")};
  }
  Ending operator()(const TimedOut&) const {
    return {null(), Node("SIGKILL"), true, Node("timeout")};
  }
  Ending operator()(const OverLimit& end) const {
    return {null(), Node("SIGKILL"), false, Node(end.reason)};
  }
  Ending operator()(const Cancelled& end) const {
    return {null(), Node(signal_name(end.signal == 0 ? SIGKILL : end.signal)), false,
            Node("cancelled")};
  }
};

Node identity_node(const std::optional<Identity>& identity) {
  if (!identity) return null();
  const auto number = [](std::uint32_t id) { return Node(std::uint64_t{id}); };
  Node outside{NodeMap{}};
  outside.set("uid", number(identity->outside_uid));
  outside.set("gid", number(identity->outside_gid));
  Node node{NodeMap{}};
  node.set("uid", number(identity->uid));
  node.set("gid", number(identity->gid));
  node.set("outside", std::move(outside));
  return node;
}

// Who named the backend, and which earlier ones could not be used.
Node choice_node(const std::optional<BackendChoice>& choice) {
  if (!choice) return null();
  NodeList passed_over;
  for (const PassedOver& passed : choice->passed_over) {
    Node node{NodeMap{}};
    node.set("backend", name_of(passed.backend));
    node.set("reason", passed.reason);
    node.set("cure", passed.cure.empty() ? null() : Node(passed.cure));
    passed_over.push_back(std::move(node));
  }
  Node node{NodeMap{}};
  node.set("backend", name_of(choice->backend));
  node.set("by", name_of(choice->by));
  node.set("passed_over", std::move(passed_over));
  return node;
}

Node enforcement_node(const Report& report) {
  const Enforcement& enforcement = report.enforcement;
  Node node{NodeMap{}};
  node.set("backend", enforcement.backend.empty() ? null() : Node(enforcement.backend));
  node.set("namespaces", enforcement.namespaces);
  node.set("pivot_root", enforcement.pivot_root);
  node.set("bind_mounts", enforcement.bind_mounts);
  node.set("landlock", enforcement.landlock);
  node.set("landlock_abi", enforcement.landlock_abi);
  node.set("seccomp", enforcement.seccomp);
  node.set("cap_drop", enforcement.cap_drop);
  node.set("no_new_privs", enforcement.no_new_privs);
  node.set("network", enforcement.network.empty() ? null() : Node(enforcement.network));
  Node limits{NodeMap{}};
  for (const auto& [name, by] : enforcement.limits) limits.set(name, by);
  node.set("limits", std::move(limits));
  NodeList missing;
  for (const std::string& layer : enforcement.missing) missing.emplace_back(layer);
  node.set("missing", std::move(missing));
  node.set("lost", loss_list(enforcement.lost));
  node.set("identity", identity_node(report.identity));
  node.set("chosen", choice_node(report.choice));
  return node;
}

Node text_or_null(const std::string& text) { return text.empty() ? null() : Node(text); }

Node denials_node(const std::vector<Denial>& denials) {
  NodeList list;
  for (const Denial& denial : denials) {
    Node node{NodeMap{}};
    node.set("what", denial.what);
    node.set("detail", denial.detail);
    node.set("layer", denial.layer);
    node.set("count", denial.count);
    node.set("path", text_or_null(denial.path));
    node.set("access", text_or_null(denial.access));
    node.set("rule", text_or_null(denial.rule));
    node.set("change", text_or_null(denial.change));
    node.set("certain", denial.certain);
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node hints_node(const std::vector<Hint>& hints) {
  NodeList list;
  for (const Hint& hint : hints) {
    Node node{NodeMap{}};
    node.set("access", hint.access);
    node.set("path", hint.path);
    node.set("rule", hint.rule);
    node.set("change", hint.change.empty() ? null() : Node(hint.change));
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node connections_node(const std::vector<Connection>& connections) {
  NodeList list;
  for (const Connection& connection : connections) {
    Node node{NodeMap{}};
    node.set("host", connection.host.empty() ? null() : Node(connection.host));
    node.set("address", connection.address.empty() ? null() : Node(connection.address));
    node.set("port", connection.port);
    node.set("allowed", connection.allowed);
    node.set("rule", connection.rule);
    node.set("reason", connection.reason.empty() ? null() : Node(connection.reason));
    node.set("error", connection.error.empty() ? null() : Node(connection.error));
    node.set("count", connection.count);
    node.set("sent", optional_number(connection.sent));
    node.set("received", optional_number(connection.received));
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node published_node(const std::vector<Published>& published) {
  NodeList list;
  for (const Published& port : published) {
    Node node{NodeMap{}};
    node.set("host_port", port.host_port);
    node.set("port", port.port);
    node.set("connections", port.connections);
    node.set("refused", port.refused);
    node.set("received", port.received);
    node.set("sent", port.sent);
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node requests_node(const std::vector<SentRequests>& requests) {
  NodeList list;
  for (const SentRequests& one : requests) {
    Node node{NodeMap{}};
    node.set("rule", one.rule);
    node.set("method", text_or_null(one.method));
    node.set("host", text_or_null(one.host));
    node.set("status", one.status == 0 ? null() : Node(std::uint64_t{one.status}));
    node.set("sent_bytes", one.sent);
    node.set("received_bytes", one.received);
    node.set("count", one.count);
    node.set("refused", text_or_null(one.refused));
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node handoff_node(const std::vector<Quarantined>& handoff) {
  NodeList list;
  for (const Quarantined& entry : handoff) {
    Node node{NodeMap{}};
    node.set("path", entry.path);
    node.set("kind", entry.kind);
    node.set("moved_to", entry.moved_to.empty() ? null() : Node(entry.moved_to));
    node.set("restored", entry.restored);
    node.set("original", entry.original.empty() ? null() : Node(entry.original));
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node stage_node(const std::optional<StageUse>& stage) {
  if (!stage) return null();
  Node node{NodeMap{}};
  node.set("from", stage->from.empty() ? null() : Node(stage->from));
  node.set("bytes", stage->bytes);
  return node;
}

Node session_node(const std::optional<SessionMark>& session) {
  if (!session) return null();
  Node principal{NodeMap{}};
  principal.set("kind", session->principal == SessionMark::Principal::Uid ? "uid" : "namespace");
  principal.set("uid", std::uint64_t{session->uid});
  Node node{NodeMap{}};
  node.set("id", session->id);
  node.set("agent", session->agent.empty() ? null() : Node(session->agent));
  node.set("conversation", session->conversation.empty() ? null() : Node(session->conversation));
  node.set("principal", std::move(principal));
  return node;
}

Node changes_node(const std::vector<Change>& changes) {
  NodeList list;
  for (const Change& change : changes) {
    Node node{NodeMap{}};
    node.set("path", change.path);
    node.set("change", name_of(change.change));
    node.set("state", name_of(change.state));
    node.set("reason", change.reason);
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node error_node(const std::optional<Error>& error) {
  if (!error) return null();
  Node node{NodeMap{}};
  node.set("kind", name_of(error->kind));
  node.set("code", code(error->kind));
  node.set("message", message(*error));
  node.set("hint", error->hint.empty() ? null() : Node(error->hint));
  return node;
}

Node audit_node(const std::optional<AuditMark>& audit) {
  if (!audit || audit->event_id.empty()) return null();
  Node node{NodeMap{}};
  node.set("event_id", audit->event_id);
  node.set("outcome", audit->outcome.empty() ? "unrecorded" : audit->outcome);
  return node;
}

void add_streams(Node& node, const std::optional<Outcome>& outcome) {
  const auto add = [&](const char* name, const char* size, const std::optional<Stream>& stream) {
    node.set(name, stream ? Node(stream->text()) : null());
    node.set(size, stream ? Node(stream->bytes) : null());
  };
  const std::optional<Stream> none;
  add("stdout", "stdout_bytes", outcome ? outcome->out : none);
  add("stderr", "stderr_bytes", outcome ? outcome->err : none);
  node.set("truncated", outcome && ((outcome->out && outcome->out->truncated()) ||
                                    (outcome->err && outcome->err->truncated())));
}

Node credential_node(const std::optional<Credential>& credential) {
  if (!credential) return null();
  Node node{NodeMap{}};
  node.set("agent", credential->agent);
  node.set("kind", name_of(credential->kind));
  node.set("label", credential->label);
  node.set("copied", credential->copied);
  return node;
}

}  // namespace

std::string Report::json() const {
  Node node{NodeMap{}};
  node.set("schema", "cordon.report/1");
  node.set("run_id", run_id);
  const Ending ending = outcome ? std::visit(DescribeEnd{}, outcome->end) : Ending{};
  node.set("exit_code", ending.exit_code);
  node.set("signal", ending.signal);
  node.set("timed_out", ending.timed_out);
  node.set("kill_reason", ending.kill_reason);
  node.set("duration_ms", outcome ? Node(outcome->duration_ms) : Node(0));
  add_streams(node, outcome);
  node.set("enforcement", enforcement_node(*this));
  node.set("policy_hash", policy_hash.empty() ? null() : Node(policy_hash));
  const auto policy = policy_json.empty() ? Result<Node>(null()) : read_json(policy_json, "policy");
  node.set("policy", policy ? *policy : null());
  node.set("reductions", reductions_list(reductions));
  NodeList used;
  for (const std::string& id : approvals) used.emplace_back(id);
  node.set("approvals", std::move(used));
  node.set("credential", credential_node(credential));
  node.set("denials", denials_node(outcome ? outcome->denials : std::vector<Denial>{}));
  node.set("hints", hints_node(outcome ? outcome->hints : std::vector<Hint>{}));
  node.set("connections",
           connections_node(outcome ? outcome->connections : std::vector<Connection>{}));
  node.set("published", published_node(outcome ? outcome->published : std::vector<Published>{}));
  node.set("requests", requests_node(outcome ? outcome->requests : std::vector<SentRequests>{}));
  node.set("handoff", handoff_node(outcome ? outcome->handoff : std::vector<Quarantined>{}));
  node.set("changes", changes_node(changes));
  node.set("stage", stage_node(stage));
  node.set("session", session_node(session));
  Node usage{NodeMap{}};
  usage.set("cpu_ms", outcome ? outcome->usage.cpu_ms : 0);
  usage.set("max_rss_bytes", outcome ? outcome->usage.max_rss_bytes : 0);
  node.set("usage", std::move(usage));
  node.set("audit", audit_node(audit));
  node.set("error", error_node(error));
  return write_json(node, JsonStyle::Compact);
}

}  // namespace cordon
