// cordon run: from a command line to a contained command, its report and its exit status.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "cli/plan_view.h"
#include "cli/policy_options.h"
#include "cli/session.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "host/resolve.h"
#include "policy/agents.h"
#include "run/contained_run.h"

namespace cordon {
namespace {

constexpr int kRefused = 125;

Report refusal(const Error& error) {
  Report report;
  report.run_id = make_run_id();
  report.error = error;
  return report;
}

// Opened before anything runs, so that a report that cannot be written stops the run, and so that
// the command cannot change what the name leads to. A symlink that an earlier run left behind would
// make Cordon overwrite what the command itself cannot reach.
Result<Fd> open_report(const std::string& path) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                 0600));
  if (!file.valid()) {
    const int number = errno;
    return fail(setup_error("cannot open the report file " + quote(path), number,
                            number == ELOOP ? "it is a symlink: name the file itself" : ""));
  }
  return file;
}

Result<void> write_report(const Fd& file, const std::string& text) {
  struct stat status {};
  const bool regular = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (regular && (::fchmod(file.get(), 0600) < 0 || ::ftruncate(file.get(), 0) < 0)) {
    return fail(setup_error("cannot write the report file", errno));
  }
  if (!write_all(file.get(), text)) return fail(setup_error("cannot write the report file", errno));
  return {};
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
  if (arguments.value(FlagId::Cwd) == "") return fail(usage_error("--cwd is empty"));
  CORDON_TRY(backend, asked_backend(arguments));
  CORDON_TRY(asked, asked_policy(arguments, caller));
  RunInput input;
  for (const std::string_view word : arguments.operands) input.argv.emplace_back(word);
  input.policy = std::move(asked.policy);
  input.ceilings = std::move(asked.ceilings);
  input.cwd = arguments.value(FlagId::Cwd).value_or("");
  input.backend = backend;
  input.tell_choice = say_choice;
  input.own_program = "/proc/self/exe";
  input.describe_policy = json || arguments.has(FlagId::Report);
  input.streams.in = Stdin::Inherit;
  input.streams.out = json ? Stdout::Capture : Stdout::Inherit;
  input.streams.terminal = arguments.has(FlagId::Tty) || (!json && at_a_terminal());
  return input;
}

// Where the report of this run goes, beside what is said on standard error.
struct Answer {
  bool json = false;
  Fd file;

  void give(const Report& report) const {
    if (!json && !file.valid()) return;
    const std::string text = report.json() + "\n";
    if (json) say_answer(text);
    if (!file.valid()) return;
    if (const auto written = write_report(file, text); !written) say_error(written.error());
  }

  [[nodiscard]] int refuse(const Error& error, std::optional<AuditMark> audit = {}) const {
    say_error(error);
    Report report = refusal(error);
    report.audit = std::move(audit);
    give(report);
    return error.exit_status;
  }
};

Result<Answer> open_answer(const Arguments& arguments) {
  Answer answer;
  answer.json = arguments.has(FlagId::Json);
  if (const auto path = arguments.value(FlagId::Report)) {
    CORDON_TRY(file, open_report(std::string(*path)));
    answer.file = std::move(file);
  }
  return answer;
}

std::optional<AuditMark> record_refused(const Arguments& arguments, const Caller& caller,
                                        const Error& error) {
  RunInput input;
  for (const std::string_view word : arguments.operands) input.argv.emplace_back(word);
  return record_refusal(input, caller, error);
}

int dry_run(const RunInput& input, const Caller& caller, const Answer& answer) {
  const auto judged = judge(input, caller);
  if (!judged) return answer.refuse(judged.error());
  return say_answer(answer.json ? plan_json(*judged) : plan_text(*judged)) ? 0 : kRefused;
}

int run(const RunInput& input, const Caller& caller, const Answer& answer) {
  say_dangers(input.policy.net.sockets);
  const Report report = run_contained(input, caller);
  if (!answer.json) say_reductions(report.reductions);
  if (report.audit && report.audit->unrecorded) say_error(*report.audit->unrecorded);
  if (report.credential && report.credential->copied) {
    say("cordon: " + describe(*report.credential) + "\n");
  }
  if (report.error) say_error(*report.error);
  if (report.outcome && !answer.json) say_outcome(*report.outcome);
  answer.give(report);
  return report.error ? report.error->exit_status : exit_status(report.outcome->end);
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
    return answer->refuse(input.error(),
                          asked ? record_refused(arguments, *caller, input.error()) : std::nullopt);
  }
  if (arguments.has(FlagId::DryRun)) return dry_run(*input, *caller, *answer);
  const Fd signals = watch_signals();
  if (!signals.valid()) return answer->refuse(setup_error("cannot watch for signals", errno));
  input->signal_descriptor = signals.get();
  return run(*input, *caller, *answer);
}

}  // namespace cordon
