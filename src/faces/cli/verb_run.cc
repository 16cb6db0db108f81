// cordon run: from a command line to a contained command, its report and its exit status.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>

#include "base/fd.h"
#include "base/random_id.h"
#include "base/text.h"
#include "compat/backends.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/report_file.h"
#include "faces/cli/report_page.h"
#include "faces/cli/session.h"
#include "faces/cli/summary.h"
#include "faces/cli/verbs.h"
#include "host/git/attributes.h"
#include "host/home_settings.h"
#include "host/resolve.h"
#include "policy/agents.h"
#include "run/account.h"
#include "run/answers.h"
#include "run/choose.h"
#include "run/line.h"
#include "run/run_record.h"

namespace cordon {
namespace {

constexpr int kRefused = 125;
// Of a command that succeeded whose report did not arrive, as if SIGPIPE had ended it.
constexpr int kLost = 128 + SIGPIPE;

Report refusal(const Error& error) {
  Report report;
  report.run_id = random_id();
  report.error = error;
  return report;
}

std::optional<StageBase> asked_stage_base(const Arguments& arguments) {
  if (const auto run = arguments.value(FlagId::StageFrom)) {
    return StageBase{StageBase::How::Continue, std::string(*run)};
  }
  if (const auto run = arguments.value(FlagId::StageFork)) {
    return StageBase{StageBase::How::Fork, std::string(*run)};
  }
  return std::nullopt;
}

// The runtime of --backend oci; empty: the first that is installed.
Result<std::string> asked_runtime(const Arguments& arguments,
                                  const std::optional<BackendKind>& asked, const Caller& caller) {
  const auto name = arguments.value(FlagId::RuntimeProgram);
  if (!name) return std::string();
  if (!is_oci_runtime(*name)) {
    return fail(usage_error("--runtime " + quote(*name) + " is not known",
                            "write runc or crun, which stand for the installed programs"));
  }
  CORDON_TRY(wish, backend_request(asked, ChosenBy::Option, caller));
  if (wish.backend == BackendKind::Oci) return std::string(*name);
  return fail(usage_error("--runtime " + std::string(*name) + " is for --backend oci",
                          "add --backend oci, or leave --runtime out"));
}

Result<RunInput> run_input(const Arguments& arguments, const Caller& caller) {
  const bool json = arguments.has(FlagId::Json);
  if (arguments.operands.empty()) {
    return fail(usage_error("no command was given", "cordon run [OPTION]... [--] CMD [ARG]..."));
  }
  if (json && arguments.has(FlagId::Tty)) {
    return fail(usage_error("--tty contradicts --json",
                            "drop one of them: --json captures, --tty passes through"));
  }
  if (arguments.value(FlagId::Cwd) == "")
    return fail(
        usage_error("--cwd is empty", "name the directory in which the command is to start"));
  CORDON_TRY(backend, asked_backend(arguments));
  CORDON_TRY(runtime, asked_runtime(arguments, backend, caller));
  CORDON_TRY(asked, asked_policy(arguments, caller));
  RunInput input;
  for (const std::string_view word : arguments.operands) input.argv.emplace_back(word);
  input.policy = std::move(asked.policy);
  input.ceilings = std::move(asked.ceilings);
  input.cwd = arguments.value(FlagId::Cwd).value_or("");
  input.stage_base = asked_stage_base(arguments);
  input.backend = backend;
  input.tell_choice = say_choice;
  input.tell_copying = copy_progress();
  input.backends = every_backend(caller, "/proc/self/exe", runtime);
  input.describe_policy = json || arguments.has(FlagId::Report);
  // A person reads a terminal; what else reads the lines may be the agent that is contained.
  if (::isatty(STDERR_FILENO) == 1 && !json) input.hints = HintsFrom::Host;
  input.cures = true;
  input.why = arguments.has(FlagId::Why);
  if (const auto process = arguments.value(FlagId::EndsWith)) {
    const auto pid = parse_number(*process);
    if (!pid || *pid == 0 || *pid > std::numeric_limits<std::int32_t>::max()) {
      return fail(
          usage_error("--ends-with " + quote(*process) + " is not the number of a process"));
    }
    CORDON_TRY(cancel, Cancel::when_process_ends(static_cast<std::int64_t>(*pid)));
    input.cancel = std::move(cancel);
  }
  input.streams.in = Input::drawn_from(STDIN_FILENO);
  if (!json) input.streams.out = Output::unfiltered_to(STDOUT_FILENO, STDERR_FILENO);
  input.streams.terminal = arguments.has(FlagId::Tty) || (!json && at_a_terminal());
  // At a terminal of its own the command has the screen: there it is told at the end alone.
  if (!input.streams.terminal) {
    input.tell_rename = [](const Denial& first) { say_warning(denial_text(first)); };
  }
  return input;
}

// Where the report of this run goes, beside what is said on standard error.
struct ReportTargets {
  bool json = false;
  bool summary = false;
  Notices::Layout layout = Notices::Layout::Each;
  std::optional<ReportFile> file;
  std::optional<PageOf> page;  // the file gets a page for a browser

  // False if it did not arrive everywhere it was to go; says itself why.
  [[nodiscard]] bool give(const Report& report) const {
    if (!json && !file) return true;
    const std::string text = report.json() + "\n";
    const bool told = !json || say_answer(text);
    if (!file) return told;
    const auto written = file->write(page ? page_of(text, *page) : text);
    if (!written) say_error(written.error());
    return told && written.has_value();
  }

  [[nodiscard]] int refuse(const Error& error, std::optional<AuditMark> audit = {}) const {
    say_error(error);
    Report report = refusal(error);
    report.audit = std::move(audit);
    if (summary) say(summary_text(report));
    (void)give(report);
    return error.exit_status;
  }
};

Result<ReportTargets> open_answer(const Arguments& arguments) {
  ReportTargets answer;
  answer.json = arguments.has(FlagId::Json);
  answer.summary = arguments.has(FlagId::Summary);
  // --why asks for the list.
  if (!arguments.has(FlagId::Why)) answer.layout = Notices::usual();
  if (const auto path = arguments.value(FlagId::Report)) {
    CORDON_TRY(file, ReportFile::open(std::string(*path), kReportOfRun));
    answer.file = std::move(file);
    if (path->ends_with(".html")) {
      answer.page.emplace();
      for (const std::string_view word : arguments.operands) answer.page->argv.emplace_back(word);
    }
  }
  return answer;
}

std::optional<AuditMark> record_refused(const Arguments& arguments, const Caller& caller,
                                        const Error& error) {
  RunInput input;
  for (const std::string_view word : arguments.operands) input.argv.emplace_back(word);
  return record_refusal(input, caller, error);
}

int dry_run(const RunInput& input, const Caller& caller, const ReportTargets& answer) {
  const auto plan = plan_answer(input, caller);
  if (!plan) return answer.refuse(plan.error());
  return say_answer(answer.json ? plan->json : plan->text) ? 0 : kRefused;
}

// Before the command can commit anything.
void say_filters(const RunInput& input, const Caller& caller) {
  if (input.policy.fs.write.empty()) return;
  for (const std::string& filter : filters_without_driver(caller)) {
    say_warning(
        ".gitattributes asks for the filter " + quote(filter) +
        ", which has no driver inside: git would commit such files as they are. Commit them "
        "outside, or set filter." +
        filter + ".clean in the repository");
  }
}

// Before a build asks elsewhere than it does outside.
void say_unread_settings(const RunInput& input, const Caller& caller) {
  if (input.policy.fs.home != HomeMode::Private) return;
  const auto unread = unread_settings(caller);
  if (!unread) return;
  say_warning(message(*unread) +
              ": nothing of it is inside, so maven knows no mirror or proxy there; correct it");
}

// `cordon run ls --policy readonly`: all behind the command is its own. Of a command that failed it
// is told, with the line that was meant; nothing where "--" was written. Only options that no other
// program is likely to have.
std::optional<std::string> misplaced_option(const Arguments& arguments) {
  constexpr std::array kOfPolicies{FlagId::Policy, FlagId::Ceiling, FlagId::Read, FlagId::Write,
                                   FlagId::Deny,   FlagId::Net,     FlagId::Allow};
  if (arguments.ended_flags) return std::nullopt;
  const auto& words = arguments.operands;
  const Verb& verb = *find_verb("run");
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    const Flag* flag = name.starts_with("--") ? find_flag(verb, name) : nullptr;
    if (flag == nullptr || std::ranges::count(kOfPolicies, flag->id) == 0) continue;
    const bool two = name.size() == words[i].size() && i + 1 < words.size();
    std::string line = "cordon run";
    for (std::size_t k = i; k < i + (two ? 2 : 1); ++k) line += " " + shell_word(words[k]);
    line += " --";
    for (std::size_t k = 0; k < words.size(); ++k)
      if (k < i || k >= i + (two ? 2 : 1)) line += " " + shell_word(words[k]);
    return std::string(name) + " went to " + quote(words.front()) +
           ": options of cordon stand before the command: " + line;
  }
  return std::nullopt;
}

// `cordon run --stage auto -- make`: the value of an option that may stand without one is no word
// of its own, so that the first word is the command.
std::string hint_for_loose_value(const Arguments& arguments) {
  const Flag* flag = find_flag(*find_verb("run"), "--stage");
  const bool loose = flag != nullptr && arguments.has(flag->id) && !arguments.ended_flags &&
                     std::ranges::count(flag->choices, arguments.operands.front()) != 0;
  if (!loose) return {};
  const std::string value(arguments.operands.front());
  return "a value of --stage stands behind \"=\": write --stage=" + value;
}

// What is told of slips at the keyboard, should the command fail of them.
struct Slips {
  std::optional<std::string> misplaced;
  std::string loose;
};

int run(const RunInput& input, const Caller& caller, const ReportTargets& answer,
        const Slips& slips) {
  say_dangers(input.policy.net.sockets);
  say_filters(input, caller);
  say_unread_settings(input, caller);
  Report report = run_contained(input, caller);
  constexpr int kNotFound = 127;
  if (report.error && report.error->exit_status == kNotFound && !slips.loose.empty()) {
    report.error->hint = slips.loose;
  }
  if (!answer.json) {
    Notices notices(answer.layout, report.run_id);
    say_reductions(report.reductions, notices);
  }
  if (report.audit && report.audit->unrecorded) say_error(*report.audit->unrecorded);
  if (report.audit && report.audit->unkept) say_error(*report.audit->unkept);
  const bool is_login = report.credential && report.credential->label.starts_with("~/");
  if (report.credential && (is_login || report.credential->kind != Credential::Kind::Outside)) {
    say("cordon: " + describe(*report.credential) + "\n");
  }
  if (report.credential && report.outcome) {
    const auto refused = rejected_login(*report.credential, report.outcome->requests);
    if (refused) say_warning(*refused);
  }
  if (report.error) say_error(*report.error);
  if (report.outcome && !answer.json) {
    Notices notices(answer.layout, report.run_id);
    say_outcome(*report.outcome, notices);
    say_changes(report.changes, report.outcome->handoff, notices);
    if (slips.misplaced && exit_status(report.outcome->end) != 0) say_warning(*slips.misplaced);
  }
  if (answer.summary) say(summary_text(report));
  const bool given = answer.give(report);
  const int status = report.error ? report.error->exit_status : exit_status(report.outcome->end);
  return status == 0 && !given ? kLost : status;
}

}  // namespace

void answer_refusal(const Error& error) { say_answer(refusal(error).json() + "\n"); }

int verb_run(const Arguments& arguments) {
  const auto answer = open_answer(arguments);
  if (!answer) {
    say_error(answer.error());
    if (arguments.has(FlagId::Json)) answer_refusal(answer.error());
    return answer.error().exit_status;
  }
  const auto caller = identify_caller();
  if (!caller) return answer->refuse(caller.error());
  auto input = run_input(arguments, *caller);
  if (!input) {
    // A slip at the keyboard is not an action; a policy that was refused is.
    const bool asked = input.error().kind != ErrorKind::Usage && !arguments.has(FlagId::DryRun);
    if (asked) keep_account(caller->state_directory, refusal(input.error()));
    return answer->refuse(input.error(),
                          asked ? record_refused(arguments, *caller, input.error()) : std::nullopt);
  }
  if (arguments.has(FlagId::DryRun)) return dry_run(*input, *caller, *answer);
  const Fd signals = watch_signals();
  if (!signals.valid()) return answer->refuse(setup_error("cannot watch for signals", errno));
  input->signal_descriptor = signals.get();
  return run(*input, *caller, *answer,
             {misplaced_option(arguments), hint_for_loose_value(arguments)});
}

}  // namespace cordon
