#include "cordon/runner.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "host/resolve.h"
#include "policy/environment.h"
#include "run/choose.h"
#include "run/contained_run.h"
#include "run/policy_source.h"

namespace cordon {

struct Cancel::State {
  Fd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

Cancel::Cancel() : state_(std::make_shared<State>()) {}

void Cancel::cancel() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(state_->event.get(), &one, sizeof one);
}

int Cancel::descriptor() const { return state_->event.get(); }

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

Report Runner::run(const Request& request) const {
  const auto refused = [](Error error) {
    Report report;
    report.run_id = make_run_id();
    report.error = std::move(error);
    return report;
  };
  auto caller = identify_caller();
  if (!caller) return refused(std::move(caller).error());
  RunInput input;
  input.argv = request.argv;
  auto ceilings = load_ceilings({}, *caller);
  if (!ceilings) {
    auto mark = record_refusal(input, *caller, ceilings.error());
    Report report = refused(std::move(ceilings).error());
    report.audit = std::move(mark);
    return report;
  }
  if (request.policy) {
    input.policy = *request.policy;
  } else {
    input.policy = *Policy::preset("workspace");
  }
  std::vector<Reduction> refused_names = drop_injection(input.policy.env);
  input.ceilings = std::move(*ceilings);
  input.ceilings.insert(input.ceilings.end(), request.ceilings.begin(), request.ceilings.end());
  input.cwd = request.cwd;
  if (!request.backend.empty()) {
    const auto kind = parse_backend(request.backend);
    if (!kind) return refused(kind.error());
    input.backend = *kind;
    input.backend_by = ChosenBy::Caller;
  }
  input.streams.in = request.in;
  input.streams.out = request.out;
  input.streams.input = request.input;
  input.cancel = request.cancel;
  Report report = run_contained(input, *caller);
  report.reductions.insert(report.reductions.end(), refused_names.begin(), refused_names.end());
  return report;
}

std::string_view version() { return CORDON_VERSION; }

}  // namespace cordon
