#include "run/open_session.h"

#include <sys/socket.h>
#include <sys/timerfd.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <tuple>

#include "base/path.h"
#include "base/random_id.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/own_programs.h"
#include "host/resolve.h"
#include "run/account.h"
#include "run/governance.h"
#include "run/held_run.h"
#include "run/hints.h"
#include "run/identity.h"
#include "run/missing_program.h"
#include "run/settle.h"
#include "sandbox/session/exec_child.h"
#include "sandbox/session/protocol.h"

namespace cordon {
namespace {

Error session_over() {
  return {.kind = ErrorKind::Unavailable,
          .what = "the session has ended",
          .hint = "start another one: cordon session start"};
}

void set_timer(int timer, std::uint64_t milliseconds) {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(milliseconds / 1000);
  when.it_value.tv_nsec = static_cast<long>(milliseconds % 1000) * 1'000'000;
  ::timerfd_settime(timer, 0, &when, nullptr);
}

std::optional<std::uint64_t> smaller(std::optional<std::uint64_t> one,
                                     std::optional<std::uint64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

bool is_alike(const Connection& one, const Connection& other) {
  const auto key = [](const Connection& of) {
    return std::tie(of.host, of.address, of.port, of.allowed, of.rule, of.reason, of.error);
  };
  return key(one) == key(other);
}

bool is_alike(const Denial& one, const Denial& other) {
  return std::tie(one.what, one.detail, one.layer) ==
         std::tie(other.what, other.detail, other.layer);
}

// What was added between two looks at a list that only grows. Attempts of commands that ran at the
// same time cannot be told apart, and count for each of them.
template <typename Attempt>
std::vector<Attempt> added(const std::vector<Attempt>& before, const std::vector<Attempt>& after) {
  std::vector<Attempt> found;
  for (Attempt one : after) {
    for (const Attempt& earlier : before) {
      if (is_alike(one, earlier)) one.count -= std::min(one.count, earlier.count);
    }
    if (one.count > 0) found.push_back(std::move(one));
  }
  return found;
}

struct Attempts {
  std::vector<Connection> connections;
  std::vector<Denial> denials;
};

Attempts attempts_of(const Prepared& prepared) {
  if (!prepared.broker) return {};
  return {prepared.broker->connections(), prepared.broker->denials()};
}

// A thread that is made meanwhile gets no signals.
class SignalsKept {
 public:
  SignalsKept() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsKept() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  sigset_t before_{};
};

// The whole sandbox is gone, and a command went with it.
bool is_closed(int socket) {
  pollfd polled{socket, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

OpenSession::OpenSession(RunInput input, Caller caller, SessionTerms terms)
    : input_(std::move(input)), caller_(std::move(caller)), terms_(std::move(terms)) {}

Result<std::unique_ptr<OpenSession>> OpenSession::open(RunInput input, Caller caller,
                                                       SessionTerms terms) {
  std::unique_ptr<OpenSession> session(
      new OpenSession(std::move(input), std::move(caller), std::move(terms)));
  CORDON_CHECK(session->begin());
  return session;
}

Result<void> OpenSession::begin() {
  given_ = input_.ceilings;
  CORDON_TRY(governance, governance_of(terms_.agent, caller_));
  if (governance) input_.ceilings.push_back(std::move(*governance));
  CORDON_TRY(program, own_program(caller_, "cordon-inside"));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
    return fail(setup_error("cannot make a socket pair", errno));
  }
  spawner_ = Fd(ends[0]);
  if (input_.run_id.empty()) input_.run_id = random_id();
  input_.helper = program;
  input_.argv = {program, std::string(session::kSpawnInside)};
  input_.streams = {};
  input_.streams.spawner_socket = std::make_shared<Fd>(ends[1]);
  input_.describe_policy = true;
  input_.asker.action = "session";
  attribute(input_.asker);
  input_.session = this;
  input_.cancel = end_;
  if (terms_.idle_ms) {
    idle_timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!idle_timer_.valid()) return fail(setup_error("cannot make a timer", errno));
    input_.poll_hook = PollHook{idle_timer_.get(), [this] { return end_if_idle(); }};
  }
  {
    // Signals belong to the other threads of the program.
    const SignalsKept kept;
    thread_ = std::thread([this] { carry_out(); });
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ != State::Starting; });
  if (state_ == State::Over && report_->error) return fail(*report_->error);
  return {};
}

void OpenSession::attribute(Asker& asker) const {
  asker.session = id();
  asker.agent = terms_.agent;
  asker.conversation = terms_.conversation;
}

OpenSession::~OpenSession() {
  ask_to_end();
  if (thread_.joinable()) thread_.join();
}

void OpenSession::carry_out() {
  Report report = run_contained(input_, caller_);
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  state_ = State::Over;
  changed_.notify_all();
  over_.cancel();
}

void OpenSession::opened(const JudgedRun& run, Prepared& prepared, const Launched& launched,
                         const Report& report) {
  const std::lock_guard lock(mutex_);
  run_ = &run;
  prepared_ = &prepared;
  enforcement_ = launched.enforcement;
  init_ = launched.child->init_process();
  identity_ = report.identity;
  policy_hash_ = report.policy_hash;
  policy_json_ = report.policy_json;
  backend_ = run.choice.backend;
  state_ = State::Open;
  if (idle_timer_.valid()) set_timer(idle_timer_.get(), *terms_.idle_ms);
  changed_.notify_all();
}

void OpenSession::closing() {
  std::unique_lock lock(mutex_);
  state_ = State::Closing;
  // Every process is dead, so that commands which ran until now are about to be told.
  changed_.wait(lock, [this] { return active_ == 0; });
  run_ = nullptr;
  prepared_ = nullptr;
}

bool OpenSession::enter() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::Open) return false;
  ++active_;
  if (idle_timer_.valid()) set_timer(idle_timer_.get(), 0);
  return true;
}

void OpenSession::leave() {
  const std::lock_guard lock(mutex_);
  --active_;
  if (active_ == 0 && idle_timer_.valid()) set_timer(idle_timer_.get(), *terms_.idle_ms);
  changed_.notify_all();
}

PollHook::Next OpenSession::end_if_idle() {
  std::uint64_t expired = 0;
  const bool due = ::read(idle_timer_.get(), &expired, sizeof expired) == sizeof expired;
  const std::lock_guard lock(mutex_);
  return due && active_ == 0 ? PollHook::Next::EndTheRun : PollHook::Next::Again;
}

Result<std::vector<Ceiling>> OpenSession::ceilings_now() const {
  std::vector<Ceiling> now = given_;
  if (input_.ceilings_now) {
    CORDON_TRY(read, input_.ceilings_now());
    now = std::move(read);
  }
  CORDON_TRY(governance, governance_of(terms_.agent, caller_));
  const bool was_governed = input_.ceilings.size() > given_.size();
  if (was_governed && !governance) {
    return fail(policy_error("what was signed for the agent " + quote(terms_.agent) + " is gone",
                             "start another session once the operator has put it back"));
  }
  if (governance) now.push_back(std::move(*governance));
  return now;
}

// What the operator has taken away since counts at once. The sandbox stands already, so a policy
// that is less now than it was then ends its use.
Result<void> OpenSession::check_ceilings() const {
  CORDON_TRY(now, ceilings_now());
  if (now == input_.ceilings) return {};
  // Under both: what a ceiling permits beyond then changes nothing here, what it took away does.
  now.insert(now.end(), input_.ceilings.begin(), input_.ceilings.end());
  const auto judged = judge_policy(input_.policy, now, caller_,
                                   {input_.helper, run_->request.cwd, Keep::Something,
                                    input_.approved, std::nullopt, std::vector<std::string>()});
  const auto text_of = [](const Judgement& judgement) {
    return write_json(encode_effective(judgement.clamped.effective()), JsonStyle::Compact);
  };
  if (judged && text_of(*judged) == policy_json_) return {};
  Error refused = policy_error(
      "a ceiling has changed since the session began, and it no longer permits what the session "
      "was given",
      "start another one: cordon session start");
  if (!judged) refused.notes.push_back(message(judged.error()));
  return fail(std::move(refused));
}

// What appeared meanwhile is moved away, and noted as of a run by itself: the session may live for
// days, and `cordon changes` has to know it at once.
void OpenSession::search_after(Outcome& outcome, Report& report) const {
  const auto unchecked = [&](const Error& error) {
    outcome.handoff.push_back({".", "unchecked: " + message(error), {}});
  };
  auto handoff = search_now(*run_, report.run_id);
  if (!handoff) return unchecked(handoff.error());
  outcome.handoff = std::move(*handoff);
  const Caller& caller = run_->caller;
  const auto held = settle_held({}, nullptr, outcome.handoff, run_->clamped.effective().write,
                                caller, report.run_id);
  if (!held) return unchecked(held.error());
  std::ranges::move(changes_of(*held, caller.cwd), std::back_inserter(report.changes));
}

Result<void> OpenSession::exec_recorded(const ExecInput& asked, RunRecord& record, Report& report) {
  record.judged(*run_, policy_hash_);
  CORDON_CHECK(record.begin());
  const Limits& limits = run_->clamped.effective().limits;
  StreamRequest wanted = asked.streams;
  if (limits.output) wanted.keep = *limits.output;
  if (asked.keep) wanted.keep = *asked.keep;
  wanted.total = limits.output_total;
  wanted.relay_output = true;
  CORDON_TRY(streams, Streams::open(wanted));
  if (run_->owner) CORDON_CHECK(streams.give_to(run_->owner->uid, run_->owner->gid));
  session::ExecStart start{end_, {}, asked.environment, asked.argv};
  if (!asked.cwd.empty()) {
    CORDON_TRY(place, canonicalize_existing(asked.cwd, caller_.cwd, caller_));
    start.cwd = place.path;
  }
  const Attempts before = attempts_of(*prepared_);
  CORDON_TRY(child,
             session::start_in_session(spawner_.get(), start, streams.command_ends(), init_));
  streams.command_started();
  if (asked.tell_started) asked.tell_started();
  SuperviseRequest watching;
  watching.wall_ms = smaller(limits.wall_ms, asked.wall_ms);
  watching.output_total = limits.output_total;
  watching.signal_descriptor = asked.signal_descriptor;
  watching.cancel = asked.cancel;
  watching.terminate = asked.terminate;
  watching.leaves_processes = true;
  auto outcome = supervise(*child, streams, watching);
  if (!outcome) {
    AskedCommand command = asked_command(*run_, asked.argv, input_.ceilings);
    command.start = "cordon session exec " + id() + " -- ";
    command.run.clear();
    if (!asked.cwd.empty()) command.cwd = start.cwd;
    return fail(with_command_hint(std::move(outcome).error(), command));
  }
  // Its processes are killed in no order: the command may be gone before the spawner is.
  if (exit_status(outcome->end) != 0 && (ending_ || is_closed(spawner_.get()))) {
    // Of one that ended as it should there is nothing to tell afterwards.
    const std::string why = stopped_ ? ": it was stopped" : "; cordon why " + id() + " tells why";
    outcome->denials.push_back({"session", "it ended while the command ran" + why, "session", 1});
  }
  const Attempts after = attempts_of(*prepared_);
  outcome->connections = added(before.connections, after.connections);
  std::ranges::move(added(before.denials, after.denials), std::back_inserter(outcome->denials));
  if (!is_staged(*run_) && !run_->clamped.effective().write.empty()) {
    const std::lock_guard lock(search_mutex_);
    search_after(*outcome, report);
  }
  outcome->hints = hints_for(input_, asked.argv, *run_, *outcome, report.changes);
  report.outcome = std::move(*outcome);
  return {};
}

Report OpenSession::exec(const ExecInput& asked) {
  Report report = carry_out_command(asked);
  keep_account(caller_.state_directory, report);
  return report;
}

Report OpenSession::carry_out_command(const ExecInput& asked) {
  Report report;
  report.run_id = random_id();
  report.session = SessionMark{id(), terms_.agent, terms_.conversation};
  if (asked.argv.empty() || asked.argv.front().empty()) {
    report.error = usage_error("no command was given", "cordon session exec ID -- CMD [ARG]...");
    return report;
  }
  if (auto streams = Streams::check(asked.streams); !streams) {
    report.error = std::move(streams).error();
    return report;
  }
  if (!enter()) {
    report.error = session_over();
    return report;
  }
  struct Leave {
    OpenSession& session;
    ~Leave() { session.leave(); }
  };
  const Leave leave_at_end{*this};
  report.enforcement = enforcement_;
  report.identity = identity_;
  report.session->uid = identity_ ? identity_->outside_uid : caller_.uid;
  report.choice = run_->choice;
  report.reductions = run_->reductions;
  report.policy_hash = policy_hash_;
  if (asked.describe_policy) report.policy_json = policy_json_;
  RunInput input;
  input.argv = asked.argv;
  input.policy = input_.policy;
  input.ceilings = input_.ceilings;
  input.approved = input_.approved;
  input.recorder = input_.recorder;
  input.asker = asked.asker;
  if (input.asker.tool.empty()) input.asker.action = "exec";
  attribute(input.asker);
  auto record = RunRecord::open(input, caller_);
  if (!record) {
    report.error = std::move(record).error();
    return report;
  }
  if (auto permitted = check_ceilings(); !permitted) {
    report.audit = record->close(permitted.error());
    report.error = std::move(permitted).error();
    return report;
  }
  const auto done = exec_recorded(asked, *record, report);
  if (!done) report.error = done.error();
  report.audit =
      done ? record->close(*report.outcome, report.changes) : record->close(*report.error);
  return report;
}

bool OpenSession::is_over() const {
  const std::lock_guard lock(mutex_);
  return state_ != State::Open || is_closed(spawner_.get());
}

std::optional<StageRecord> OpenSession::stage_record() const {
  const std::lock_guard lock(mutex_);
  if (prepared_ == nullptr || !prepared_->stage) return std::nullopt;
  return prepared_->stage->record();
}

void OpenSession::stop() {
  ask_to_end();
  (void)report();
}

const Report& OpenSession::report() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ == State::Over; });
  return *report_;
}

}  // namespace cordon
