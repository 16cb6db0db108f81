#include "faces/loop/readiness.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "policy/agents.h"
#include "run/missing_program.h"

namespace cordon::loop {
namespace {

// The file of the agent's login, in its home.
enum class Login { Found, Missing };

std::string how_to_sign_in(const AgentNeeds& needs) {
  const std::string name(needs.name);
  std::string keys;
  for (const std::string_view key : needs.credentials) {
    keys.append(keys.empty() ? "" : " or ").append(key);
  }
  std::string ways =
      "set " + keys + ", or sign in with cordon run --policy agent:" + name + " -- " + name;
  if (!needs.login.empty()) {
    ways += ", or share_login = true in [agent] of a policy copies the login inside";
  }
  return ways;
}

// A known agent is started once and asked for its version, which costs nothing: one that has lost
// its interpreter or a library would fail in every attempt. A program that is not known is not
// asked: it may do its work whatever it is told.
Result<void> hear_agent(const LoopInput& loop, ContainedRuns& runs, const Control& control) {
  const std::string& program = loop.agent.argv.front();
  const Report report = runs.run(run_input(loop, Role::Answer, {program, "--version"}, {}));
  if (control.quitting()) return {};
  if (report.error) return fail(*report.error);
  const int status = exit_status(report.outcome->end);
  if (status == 0) return {};
  const std::string said = last_line(last_output(*report.outcome));
  return fail(Error{.kind = ErrorKind::Command,
                    .what = "the agent " + quote(program) + " does not answer inside: " +
                            quote(program) + " --version ended with status " +
                            std::to_string(status) + (said.empty() ? "" : ", \"" + said + "\""),
                    .hint = "cordon run --why --policy agent:" + loop.agent.name + " -- " +
                            program + " --version says what it misses",
                    .exit_status = 126});
}

// One that is not signed in would fail in every attempt. A key in a variable is told already, and
// Codex does not look for one when it is asked.
Result<void> hear_login(const LoopInput& loop, ContainedRuns& runs, const Control& control,
                        Readiness& ready, Login login) {
  const auto& question = loop.agent.login;
  const bool has_key =
      ready.probe.credential && ready.probe.credential->kind != Credential::Kind::Login;
  if (!question || has_key) return {};
  const Report report = runs.run(run_input(loop, Role::Answer, question->argv, {}));
  if (control.quitting()) return {};
  if (report.error) return fail(*report.error);
  const std::string answer = last_output(*report.outcome);
  if (!says_signed_out(loop.agent.form, answer)) return {};
  const AgentNeeds* needs = find_agent(loop.agent.name);
  CORDON_ASSERT(needs != nullptr);
  std::string asked;
  for (const std::string& word : question->argv)
    asked.append(asked.empty() ? "" : " ").append(word);
  const std::string what = loop.agent.name + " is not signed in inside: " + asked + " says so";
  if (question->decides) {
    return fail(Error{.kind = ErrorKind::Command,
                      .what = what,
                      .hint = how_to_sign_in(*needs),
                      .exit_status = 126});
  }
  // Else it is told that there is neither.
  if (ready.probe.credential || login == Login::Found)
    ready.warnings.push_back(what + "; " + how_to_sign_in(*needs));
  return {};
}

std::vector<std::string> missing_needs(const LoopInput& loop, const Report& probe, Login login) {
  const AgentNeeds* needs = find_agent(loop.policy.agent.name);
  if (needs == nullptr) return {};
  const std::string name(needs->name);
  std::vector<std::string> missing;
  if (!probe.credential && login == Login::Missing) {
    missing.push_back(name + " has no key and no login inside: " + how_to_sign_in(*needs));
  }
  if (loop.policy.net.mode == NetMode::None) {
    missing.push_back(name +
                      " cannot reach its model: there is no network by the options of this loop");
    return missing;
  }
  for (const AgentHost& host : needs->hosts) {
    const auto is_gone = [&](const Reduction& reduction) {
      return reduction.what == "allow" && reduction.asked == host.rule;
    };
    if (probe.enforcement.network != "none" && std::ranges::none_of(probe.reductions, is_gone)) {
      continue;
    }
    missing.push_back("a ceiling keeps " + name + " from " + std::string(host.rule) + ", " +
                      std::string(host.reason) + ": cordon policy explain --policy agent:" + name +
                      " connect " + std::string(host.rule) + " says which");
  }
  return missing;
}

}  // namespace

Result<Readiness> check_readiness(const LoopInput& loop, ContainedRuns& runs,
                                  const Control& control) {
  // Inside, so that what is proved and found is what the agent will have.
  const std::string& program = loop.agent.argv.front();
  const AgentNeeds* needs = find_agent(loop.policy.agent.name);
  const std::string file(needs != nullptr ? needs->login : std::string_view());
  // No statuses of a shell or a loader that could not start.
  constexpr int kMissing = 3;
  constexpr int kNoLogin = 4;
  const std::string script =
      "command -v \"$1\" >/dev/null || exit 3; test -n \"$2\" && test -s \"$HOME/$2\" || exit 4";
  Readiness ready;
  ready.probe =
      runs.run(run_input(loop, Role::Probe, {"/bin/sh", "-c", script, "sh", program, file}, {}));
  if (control.quitting()) return ready;
  if (ready.probe.error) return fail(*ready.probe.error);
  const int status = exit_status(ready.probe.outcome->end);
  if (status == kMissing) {
    return fail(Error{.kind = ErrorKind::Command,
                      .what = "the agent " + quote(program) + " is not there inside",
                      .hint = cure_for_missing({loop.agent.argv, loop.caller}),
                      .exit_status = 127});
  }
  if (status != 0 && status != kNoLogin) {
    Error error =
        setup_error("a command that does nothing did not end well inside", 0, "cordon doctor");
    error.kind = ErrorKind::Unavailable;
    return fail(std::move(error));
  }
  const Login login = status == 0 ? Login::Found : Login::Missing;
  if (find_agent(loop.agent.name) != nullptr) CORDON_CHECK(hear_agent(loop, runs, control));
  if (control.quitting()) return ready;
  ready.warnings = missing_needs(loop, ready.probe, login);
  CORDON_CHECK(hear_login(loop, runs, control, ready, login));
  return ready;
}

}  // namespace cordon::loop
