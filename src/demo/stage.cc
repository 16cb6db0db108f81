#include "demo/stage.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/path.h"
#include "host/look.h"
#include "run/contained_run.h"
#include "run/policy_source.h"

namespace cordon::demo {
namespace {

constexpr std::size_t kLargest = std::size_t{1024} * 1024;

// Where a ceiling of the demonstration lies; others do not count, since nothing outside of its own
// home is granted.
Result<Ceiling> own_ceiling(const Caller& caller) {
  return Ceiling::from_file(join(caller.config_directory, "ceiling.toml"));
}

}  // namespace

Stage::Stage(ScratchHome home, Caller caller, Ceiling ceiling, Options options)
    : home_(std::move(home)),
      caller_(std::move(caller)),
      ceiling_(std::move(ceiling)),
      options_(std::move(options)) {}

Result<Stage> Stage::open(const Caller& caller, Options options) {
  CORDON_TRY(home, ScratchHome::make(caller));
  Caller resident = home.resident(caller);
  CORDON_TRY(ceiling, own_ceiling(resident));
  return Stage(std::move(home), std::move(resident), std::move(ceiling), std::move(options));
}

std::optional<int> Stage::interrupted() {
  signalfd_siginfo info{};
  while (!interrupted_ && ::read(options_.signal_descriptor, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    // A window of another size and a job that goes on are no reason to end.
    if (number != SIGWINCH && number != SIGCONT) interrupted_ = number;
  }
  return interrupted_;
}

Report Stage::run(const Attempt& attempt) {
  if (interrupted()) {
    Report report;
    report.error = setup_error("the demonstration was interrupted", 0);
    return report;
  }
  RunInput input;
  input.argv = attempt.argv;
  input.policy = make_preset("strict", preset_host());
  input.policy.name = "demo";
  for (const std::string& path : attempt.read) input.policy.fs.read.push_back({path, {}});
  for (const std::string& path : attempt.write) input.policy.fs.write.push_back({path, {}});
  // Exactly the bounds of the ceiling, so that only paths can be reduced.
  input.policy.fs.scratch = ceiling_.policy.fs.scratch;
  input.policy.limits.pids = ceiling_.policy.limits.pids;
  input.policy.limits.memory = ceiling_.policy.limits.memory;
  input.policy.limits.wall_ms = attempt.wall_ms ? attempt.wall_ms : ceiling_.policy.limits.wall_ms;
  input.ceilings = {ceiling_};
  input.cwd = "/";
  if (attempt.argv.front() == caller_.executable) input.helper = caller_.executable;
  input.signal_descriptor = options_.signal_descriptor;
  Report report = run_contained(input, caller_);
  const auto* cancelled = report.outcome ? std::get_if<Cancelled>(&report.outcome->end) : nullptr;
  if (cancelled != nullptr) interrupted_ = cancelled->signal;
  return report;
}

std::vector<std::string> Stage::own_attempt(std::string what, std::string argument) const {
  return {caller_.executable, options_.inside_verb, std::move(what), std::move(argument)};
}

Scenario Stage::play(std::string title, Attempt attempt, Expected expected, const Look& look) {
  Scenario scenario{std::move(title), std::move(attempt), expected, {}, {}};
  scenario.report = run(scenario.attempt);
  scenario.sight = scenario.report->outcome
                       ? look(*scenario.report)
                       : Sight{false, "nothing was shown: the command was not started"};
  return scenario;
}

std::string Stage::shown(const std::string& path) const {
  if (!contains(caller_.home, path)) return path;
  return "~" + path.substr(caller_.home.size());
}

std::string content_of(const std::string& path) {
  return read_regular(AT_FDCWD, path, kLargest).value_or("");
}

bool nothing_leaked(const Report& report, std::string_view secret) {
  for (const std::optional<Stream>* stream : {&report.outcome->out, &report.outcome->err}) {
    if (!*stream || (*stream)->truncated()) return false;
    if ((*stream)->head.find(secret) != std::string::npos) return false;
  }
  return true;
}

Sight kept_secret(const Report& report, const std::string& place, std::string_view secret) {
  const bool there = content_of(place).find(secret) != std::string::npos;
  const bool silent = nothing_leaked(report, secret);
  return {there && silent, !there   ? "the secret is not in its place: nothing was shown"
                           : silent ? "the secret is in its place and was not printed"
                                    : "the secret was printed"};
}

}  // namespace cordon::demo
