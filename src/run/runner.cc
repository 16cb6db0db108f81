#include "cordon/runner.h"
#include "base/random_id.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"
#include "host/resolve.h"
#include "policy/environment.h"
#include "run/answers.h"
#include "run/choose.h"
#include "run/line.h"
#include "run/open_session.h"
#include "run/policy_source.h"
#include "run/run_record.h"
#include "sys/calls.h"

namespace cordon {

struct Cancel::State {
  Fd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Fd process;  // readable once it has ended
  Fd either;   // readable once one of them is; only where there is a process
};

Cancel::Cancel() : state_(std::make_shared<State>()) {}

void Cancel::cancel() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(state_->event.get(), &one, sizeof one);
}

int Cancel::descriptor() const {
  return state_->either.valid() ? state_->either.get() : state_->event.get();
}

Result<Cancel> Cancel::when_process_ends(std::int64_t pid) {
  Cancel cancel;
  State& state = *cancel.state_;
  const bool possible = pid > 0 && pid <= std::numeric_limits<pid_t>::max();
  state.process = Fd(possible ? sys::pidfd_open(static_cast<pid_t>(pid)) : -EINVAL);
  if (!state.process.valid()) {
    return fail(usage_error("there is no process " + std::to_string(pid)));
  }
  state.either = Fd(::epoll_create1(EPOLL_CLOEXEC));
  for (const int watched : {state.event.get(), state.process.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(state.either.get(), EPOLL_CTL_ADD, watched, &event) != 0) {
      return fail(setup_error("cannot watch process " + std::to_string(pid), errno));
    }
  }
  return cancel;
}

namespace {

// A program that embeds Cordon passes on what somebody else asked for: names that make a loader or
// an interpreter run something are never taken from there.
std::vector<Reduction> drop_injection(EnvRules& env) {
  std::vector<Reduction> dropped;
  const auto refuse = [&](const std::string& name) {
    dropped.push_back({"env", name, std::nullopt, Reduction::Because::Forbidden});
  };
  std::erase_if(env.pass, [&](const std::string& name) {
    if (!is_injection_variable(name)) return false;
    refuse(name);
    return true;
  });
  std::erase_if(env.set, [&](const auto& entry) {
    if (!is_injection_variable(entry.first)) return false;
    refuse(entry.first);
    return true;
  });
  return dropped;
}

}  // namespace

// Who calls, and the ceilings that count for everybody who does.
struct Runner::Surroundings {
  Caller caller;
  std::vector<Ceiling> ceilings;
};

namespace {

// What one request comes to. The reductions are beside those of the clamp.
struct Asked {
  RunInput input;
  std::vector<Reduction> refused_names;
};

Result<Asked> asked_of(const Request& request, const std::vector<Ceiling>& standard) {
  Asked asked;
  RunInput& input = asked.input;
  input.argv = request.argv;
  input.policy = request.policy ? *request.policy : *Policy::preset("workspace");
  asked.refused_names = drop_injection(input.policy.env);
  input.ceilings = standard;
  input.ceilings.insert(input.ceilings.end(), request.ceilings.begin(), request.ceilings.end());
  input.cwd = request.cwd;
  if (!request.backend.empty()) {
    CORDON_TRY(kind, parse_backend(request.backend));
    input.backend = kind;
    input.backend_by = ChosenBy::Caller;
  }
  input.streams.in = request.in;
  input.streams.out = request.out;
  input.cancel = request.cancel;
  return asked;
}

Report refused_report(Error error) {
  Report report;
  report.run_id = random_id();
  report.error = std::move(error);
  return report;
}

void append(std::vector<Reduction>& list, const std::vector<Reduction>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

Result<Runner> Runner::reading_once() {
  Runner runner;
  CORDON_TRY(now, runner.surroundings());
  runner.read_once_ = std::move(now);
  return runner;
}

Result<std::shared_ptr<const Runner::Surroundings>> Runner::surroundings() const {
  if (read_once_) return read_once_;
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(ceilings, load_ceilings({}, caller));
  return std::make_shared<const Surroundings>(Surroundings{std::move(caller), std::move(ceilings)});
}

Report Runner::run(const Request& request) const {
  const auto found = surroundings();
  if (!found) {
    Report report = refused_report(found.error());
    // A ceiling that cannot be read refuses the run, which is told; without a caller there is no
    // log to tell it in.
    if (const auto caller = identify_caller()) {
      RunInput input;
      input.argv = request.argv;
      report.audit = record_refusal(input, *caller, found.error());
    }
    return report;
  }
  const auto asked = asked_of(request, (*found)->ceilings);
  if (!asked) return refused_report(asked.error());
  Report report = run_contained(asked->input, (*found)->caller);
  append(report.reductions, asked->refused_names);
  return report;
}

Result<ClampAnswer> Runner::clamp(const Request& request) const {
  CORDON_TRY(found, surroundings());
  CORDON_TRY(asked, asked_of(request, found->ceilings));
  return clamp_answer(asked.input, found->caller, asked.refused_names);
}

Result<Explanation> Runner::explain(const Request& request, const Question& question) const {
  CORDON_TRY(found, surroundings());
  CORDON_TRY(asked, asked_of(request, found->ceilings));
  if (asked.input.argv.empty()) asked.input.argv = {"true"};
  return explain_access(asked.input, question, found->caller);
}

Result<PlanAnswer> Runner::plan(const Request& request) const {
  CORDON_TRY(found, surroundings());
  CORDON_TRY(asked, asked_of(request, found->ceilings));
  return plan_answer(asked.input, found->caller, asked.refused_names);
}

// Session.

Session::Session(std::unique_ptr<OpenSession> open) : open_(std::move(open)) {}
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;
Session::~Session() = default;

namespace {

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  return std::ranges::equal(text, kForm, [&](char c, char form) {
    return form == '-' ? c == '-' : kDigits.find(c) != std::string_view::npos;
  });
}

Error refused_identity(const EntraIdentity& identity) {
  for (const std::string* id :
       {&identity.agent_user_id, &identity.tenant_id, &identity.intune_policy_id}) {
    if (is_uuid(*id) || (id->empty() && id == &identity.intune_policy_id)) continue;
    return usage_error(quote(*id) + " is no UUID",
                       "name the agent user and its tenant as 8-4-4-4-12 hexadecimal digits");
  }
  return {.kind = ErrorKind::Unsupported,
          .what = "a session cannot be bound to an identity of Microsoft Entra",
          .hint =
              "give it an agent id: the principal is the kernel's, and a governance document "
              "narrows it"};
}

}  // namespace

Result<Session> Runner::open_session(const Request& request, const SessionTerms& terms) const {
  if (terms.entra) return fail(refused_identity(*terms.entra));
  CORDON_TRY(found, surroundings());
  CORDON_TRY(asked, asked_of(request, found->ceilings));
  // One that reads once has read.
  if (!read_once_) {
    asked.input.ceilings_now = [caller = found->caller,
                                own = request.ceilings]() -> Result<std::vector<Ceiling>> {
      CORDON_TRY(now, load_ceilings({}, caller));
      now.insert(now.end(), own.begin(), own.end());
      return now;
    };
  }
  CORDON_TRY(opened, OpenSession::open(std::move(asked.input), found->caller, terms));
  return Session(std::move(opened));
}

const std::string& Session::id() const { return open_->id(); }

Report Session::exec(const ExecRequest& request) const {
  ExecInput input;
  input.argv = request.argv;
  input.cwd = request.cwd;
  input.streams.in = request.in;
  input.streams.out = request.out;
  input.wall_ms = request.timeout_ms;
  input.cancel = request.cancel;
  return open_->exec(input);
}

Report Session::stop() {
  open_->stop();
  return open_->report();
}

std::string_view version() { return CORDON_VERSION; }

}  // namespace cordon
