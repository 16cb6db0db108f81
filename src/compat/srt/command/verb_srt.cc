// srt, and `cordon srt`: from a command line and settings to a contained command.
#include <algorithm>
#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "compat/backends.h"
#include "compat/srt/command/control.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "faces/cli/help_text.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/session.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "policy/names.h"
#include "run/line.h"
#include "run/policy_source.h"
#include "run/run_record.h"

namespace cordon {
namespace {

using srt::refuse;

// Sub-commands of sandbox-runtime that run no command.
constexpr std::array<std::string_view, 3> kOthers{"proxy", "windows-install", "windows-uninstall"};

Result<std::vector<std::string>> command_of(const Arguments& arguments) {
  const std::string_view string = arguments.value(FlagId::CommandString).value_or("");
  if (string.empty() && arguments.operands.empty()) {
    return fail(usage_error("No command specified", "srt [OPTION]... CMD [ARG]..., or -c STRING"));
  }
  if (string.empty()) {
    const std::string_view first = arguments.operands.front();
    for (const std::string_view other : kOthers) {
      if (first == other) {
        return fail(
            usage_error("srt " + std::string(other) + " is not there: Cordon has no such part",
                        "for a program of that name: srt env " + std::string(other)));
      }
    }
    return std::vector<std::string>(arguments.operands.begin(), arguments.operands.end());
  }
  if (!arguments.operands.empty()) {
    return fail(usage_error("a command was given beside -c: " + quote(arguments.operands.front()),
                            "write it into the string"));
  }
  return std::vector<std::string>{"bash", "-c", std::string(string)};
}

Result<RunInput> run_input(const Arguments& arguments, const srt::Settings& settings,
                           const Caller& caller, const srt::Debug& debug) {
  CORDON_TRY(backend, asked_backend(arguments));
  CORDON_TRY(imported, srt::policy_of(settings, caller));
  for (const DroppedKey& loss : imported.losses)
    debug.say("no effect: " + loss.key + ": " + loss.reason);
  CORDON_TRY(ceilings, load_ceilings({}, caller));
  RunInput input;
  input.policy = std::move(imported.policy);
  CORDON_CHECK(apply_flags(arguments, caller, input.policy));
  for (const auto& [name, reason] : srt::variables_of(caller).left_out) {
    const EnvRules& env = input.policy.env;
    const bool asked = env.set.contains(name) ||
                       std::find(env.pass.begin(), env.pass.end(), name) != env.pass.end();
    if (!asked) debug.say("not passed on: " + name + ": " + reason);
  }
  bound_unlimited(input.policy.limits);
  input.ceilings = std::move(ceilings);
  input.describe_policy = false;
  input.backend = backend;
  input.backends = every_backend(caller);
  input.tell_choice = say_choice;
  input.streams.in = Input::drawn_from(STDIN_FILENO);
  input.streams.out = Output::unfiltered_to(STDOUT_FILENO, STDERR_FILENO);
  input.streams.terminal = at_a_terminal();
  return input;
}

int finish(const Report& report, const std::vector<std::string>& command, const srt::Debug& debug) {
  for (const Reduction& reduction : report.reductions) debug.say(reduction_line(reduction));
  if (report.audit && report.audit->unrecorded) say_error(*report.audit->unrecorded);
  if (report.audit && report.audit->unkept) say_error(*report.audit->unkept);
  if (report.error) {
    Error error = *report.error;
    // One word with blanks in it was meant for a shell.
    const bool line = error.kind == ErrorKind::Command && command.size() == 1 &&
                      command.front().find(' ') != std::string::npos;
    if (line) error.hint = "a line for a shell is given with -c";
    return refuse(error);
  }
  for (const Denial& denial : report.outcome->denials) {
    debug.say("denied " + denial.what + ": " + denial.detail);
  }
  // What was lost, taken out of the tree or held back is said in any case.
  say_lost_output(*report.outcome);
  Notices notices(Notices::usual(), report.run_id);
  say_handoffs(report.outcome->handoff, notices);
  say_changes(report.changes, report.outcome->handoff, notices);
  return exit_status(report.outcome->end);
}

int refuse_recorded(const std::vector<std::string>& command, const Caller& caller,
                    const Error& error) {
  RunInput asked;
  asked.argv = command;
  record_refusal(asked, caller, error);
  return refuse(error);
}

struct Asked {
  const Arguments& arguments;
  std::vector<std::string> command;
  std::optional<int> control;
};

int run(const Asked& asked, const srt::Settings& settings, const Caller& caller,
        const srt::Debug& debug) {
  auto input = run_input(asked.arguments, settings, caller, debug);
  if (!input) return refuse_recorded(asked.command, caller, input.error());
  input->argv = asked.command;
  const Fd signals = watch_signals();
  if (!signals.valid()) return refuse(setup_error("cannot watch for signals", errno));
  input->signal_descriptor = signals.get();
  if (!asked.control) return finish(run_contained(*input, caller), asked.command, debug);
  audit::Recorder recorder(audit::place_of(caller), audit_choice(input->ceilings));
  input->recorder = &recorder;
  input->live_rules = std::make_shared<LiveRules>(NetRules{});
  // Even without any host there is a broker, whose rules can be replaced.
  input->policy.net.mode = NetMode::Allow;
  srt::Control control(*asked.control, {settings, caller, *input->live_rules, recorder, debug});
  input->poll_hook = control.poll_hook();
  const int status = finish(run_contained(*input, caller), asked.command, debug);
  return control.failed() ? srt::kRefused : status;
}

// In the words that programs look for.
void tell_command(const Asked& asked, const srt::Debug& debug) {
  if (const auto string = asked.arguments.value(FlagId::CommandString);
      string && !string->empty()) {
    return debug.say("Command string mode (-c): " + std::string(*string));
  }
  debug.say("Original command: " + shell_line(asked.command));
}

bool wants_debug(const Arguments& arguments, const Caller& caller) {
  const auto variable = caller.environment.find("SRT_DEBUG");
  return arguments.has(FlagId::Debug) ||
         (variable != caller.environment.end() && !variable->second.empty());
}

}  // namespace

int verb_srt(const Arguments& arguments) {
  if (arguments.has(FlagId::ShortHelp) || arguments.has(FlagId::Help)) {
    const Verb& verb = *find_verb("srt");
    return say_answer(arguments.has(FlagId::Help) ? long_help(verb) : short_help(verb)) ? 0 : 1;
  }
  if (arguments.has(FlagId::Version)) return say_answer(version_line()) ? 0 : 1;
  Asked asked{arguments, {}, {}};
  // Before anything is opened, which could get the number that was named.
  if (const auto number = arguments.value(FlagId::ControlFd)) {
    const auto control = srt::control_descriptor(*number);
    if (!control) return refuse(control.error());
    asked.control = *control;
  }
  auto command = command_of(arguments);
  if (!command) return refuse(command.error());
  asked.command = std::move(*command);
  const auto caller = identify_caller();
  if (!caller) return refuse(caller.error());
  const srt::Debug debug(wants_debug(arguments, *caller));
  const auto settings = srt::find_settings(arguments.value(FlagId::Settings), *caller);
  if (!settings) return refuse_recorded(asked.command, *caller, settings.error());
  debug.say(settings->file.empty()
                ? "No config found at " + join(caller->home, ".srt-settings.json") +
                      ", using default config"
                : "Settings: " + settings->file);
  tell_command(asked, debug);
  return run(asked, *settings, *caller, debug);
}

}  // namespace cordon
