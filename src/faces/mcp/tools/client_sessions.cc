#include "faces/mcp/tools/client_sessions.h"

#include <algorithm>

#include "changes/stage_list.h"
#include "faces/mcp/tools/tool_context.h"

namespace cordon::mcp {
namespace {

constexpr std::uint64_t kIdleMs = std::uint64_t{30} * 60 * 1000;

// What the whole session is given: all that the operator permits.
RunInput session_input(const CallCeilings& bounds, const RunInput& of_call, Sharing sharing,
                       std::optional<StageBase> stage_base) {
  RunInput input = of_call;
  input.streams = {};
  input.cancel.reset();
  input.terminate.reset();
  input.resolved_ceilings.reset();
  input.cwd.clear();
  input.policy = run_policy(bounds, {{}, {}, {}, kLongestWallMs});
  input.stage_base = std::move(stage_base);
  if (sharing == Sharing::Stage) {
    input.policy.fs.mode = WriteMode::Staged;
    input.policy.fs.stage = StageEnd::Review;
    input.stage_decision = StageDecision::ByPerson;
  }
  return input;
}

ExecInput exec_input(const RunInput& of_call) {
  ExecInput input;
  input.argv = of_call.argv;
  input.cwd = of_call.cwd;
  for (const auto& [name, value] : of_call.policy.env.set) {
    input.environment.push_back(name + "=" + value);
  }
  input.streams = of_call.streams;
  input.keep = of_call.policy.limits.output;
  input.wall_ms = of_call.policy.limits.wall_ms;
  input.cancel = of_call.cancel;
  input.terminate = of_call.terminate;
  input.asker = of_call.asker;
  input.describe_policy = of_call.describe_policy;
  input.tell_started = of_call.tell_started;
  return input;
}

// A sandbox alone is no work that a client would have to be kept for.
class LivingSession final : public Activity {
 public:
  explicit LivingSession(std::shared_ptr<OpenSession> session) : session_(std::move(session)) {}
  [[nodiscard]] bool goes_on() const override { return false; }
  void end() override { session_->ask_to_end(); }

 private:
  std::shared_ptr<OpenSession> session_;
};

Report refused(Error error) {
  Report report;
  report.error = std::move(error);
  return report;
}

}  // namespace

ClientSessions::~ClientSessions() {
  for (Entry& entry : entries_) end(std::move(entry));
}

// Whoever uses it still, in another thread, ends with it.
void ClientSessions::end(Entry entry) const {
  entry.session->stop();
  const Report& report = entry.session->report();
  if (!report.stage || report.changes.empty() || !tell_) return;
  tell_("mcp: " + std::to_string(report.changes.size()) + " changes of session " +
        entry.session->id() + " wait; cordon changes list " + entry.session->id());
}

Sharing ClientSessions::sharing(const CallCeilings& bounds) const {
  const bool reviewed = std::ranges::any_of(
      bounds.ceilings, [](const Ceiling& ceiling) { return ceiling.stage == StageEnd::Review; });
  return reviewed ? Sharing::Stage : asked_;
}

Result<std::shared_ptr<OpenSession>> ClientSessions::session_of(
    const std::shared_ptr<Client>& client, const CallCeilings& bounds, const RunInput& input,
    const Caller& caller) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [this](Entry& entry) {
    if (!entry.client.expired()) return false;
    end(std::move(entry));
    return true;
  });
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.client.lock() == client; });
  std::optional<StageBase> stage_base;
  if (found != entries_.end()) {
    const bool same = found->ceilings == input.ceilings && found->approved == input.approved;
    if (same && !found->session->is_over()) return found->session;
    found->session->stop();
    const Report& report = found->session->report();
    if (report.stage && !report.changes.empty()) {
      stage_base = StageBase{StageBase::How::Continue, found->session->id()};
    }
    entries_.erase(found);
  }
  CORDON_TRY(opened,
             OpenSession::open(session_input(bounds, input, sharing(bounds), std::move(stage_base)),
                               caller, {{}, {}, kIdleMs, std::nullopt}));
  std::shared_ptr<OpenSession> session = std::move(opened);
  const auto activity = std::make_shared<LivingSession>(session);
  client->began(activity);
  entries_.push_back({client, input.ceilings, input.approved, session, activity});
  return session;
}

Report ClientSessions::run(const std::weak_ptr<Client>& client, const CallCeilings& bounds,
                           const RunInput& input, const Caller& caller, CallKind kind) {
  const Sharing shared = sharing(bounds);
  if (shared == Sharing::Stage && kind == CallKind::NarrowedCommand) {
    return refused({.kind = ErrorKind::Unsupported,
                    .what = "all calls of this server share one sandbox, so a call cannot ask for "
                            "less than the others",
                    .hint = "leave readonly_paths and readwrite_paths out"});
  }
  const bool alone = shared == Sharing::None ||
                     (shared == Sharing::Session && kind != CallKind::Command) ||
                     !bounds.set_by_operator;
  if (alone) return run_contained(input, caller);
  const auto open = [&]() -> Result<std::shared_ptr<OpenSession>> {
    const std::shared_ptr<Client> present = client.lock();
    if (!present) return fail(setup_error("the client is gone", 0));
    return session_of(present, bounds, input, caller);
  };
  auto session = open();
  if (!session) return refused(std::move(session).error());
  return (*session)->exec(exec_input(input));
}

std::optional<Result<std::vector<ChangeRecord>>> ClientSessions::staged_changes(
    const std::shared_ptr<Client>& client) {
  std::shared_ptr<OpenSession> session;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.client.lock() == client) session = entry.session;
    }
  }
  const auto record = session ? session->stage_record() : std::nullopt;
  if (!record) return std::nullopt;
  return list_stage(*record);
}

}  // namespace cordon::mcp
