#include "cli/mxc/execute.h"

#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "cli/session.h"
#include "cli/talk.h"
#include "host/resolve.h"
#include "run/contained_run.h"
#include "run/monotonic.h"
#include "run/policy_source.h"

namespace cordon::mxc {
namespace {

// MXC fails on a grant for what is not there; a policy would leave it out.
Result<void> require_grants(const Policy& policy, const Caller& caller) {
  for (const auto& [key, rules] :
       {std::pair{"readonlyPaths", &policy.fs.read}, {"readwritePaths", &policy.fs.write}}) {
    for (const PathRule& rule : *rules) {
      if (auto found = canonicalize_existing(rule.text, "/", caller); !found) {
        Error error = std::move(found).error();
        error.what = "filesystem." + std::string(key) + ": " + error.what;
        return fail(std::move(error));
      }
    }
  }
  return {};
}

Result<bool> is_granted(const FsRules& fs, const std::string& path, const Caller& caller) {
  bool granted = false;
  for (const auto* rules : {&fs.write, &fs.read}) {
    for (const PathRule& rule : *rules) {
      CORDON_TRY(grant, canonicalize(rule.text, "/", caller));
      granted = granted || contains(grant.path, path);
    }
  }
  return granted;
}

// Given: it must be visible inside, nothing is put in its place. Left out: the first writable
// directory, else the first readable one, else the root.
Result<std::string> start_directory(const MxcRequest& request, const Caller& caller) {
  const FsRules& fs = request.policy.fs;
  if (request.cwd.empty()) {
    for (const auto* rules : {&fs.write, &fs.read}) {
      for (const PathRule& rule : *rules) {
        CORDON_TRY(found, canonicalize_existing(rule.text, "/", caller));
        if (found.kind == FileKind::Directory) return found.path;
      }
    }
    return std::string("/");
  }
  CORDON_TRY(wanted, canonicalize_existing(request.cwd, "/", caller));
  CORDON_TRY(granted, is_granted(fs, wanted.path, caller));
  const std::string_view place = wanted.path;
  const bool visible = granted || place == "/" || place == "/tmp" || contains("/usr", place);
  if (!visible || wanted.kind != FileKind::Directory) {
    return fail(policy_error("process.cwd " + quote(request.cwd) + " is not a granted directory",
                             "grant it, or leave it out"));
  }
  return wanted.path;
}

Result<RunInput> run_input(const MxcRequest& request, const Caller& caller) {
  CORDON_CHECK(require_grants(request.policy, caller));
  RunInput input;
  CORDON_TRY(cwd, start_directory(request, caller));
  input.cwd = std::move(cwd);
  CORDON_TRY(ceilings, load_ceilings({}, caller));
  input.argv = {"/bin/sh", "-c", request.command_line};
  input.policy = request.policy;
  bound_unlimited(input.policy.limits);
  input.ceilings = std::move(ceilings);
  input.describe_policy = false;
  // Before 0.8 a command had no standard input.
  if (request.version.at_least(0, 8)) input.streams.in = Input::drawn_from(STDIN_FILENO);
  input.streams.out = Output::unfiltered_to(STDOUT_FILENO, STDERR_FILENO);
  input.streams.terminal = at_a_terminal();
  return input;
}

int refuse(const Error& error, std::string_view code, ErrorsTo where) {
  const std::string line = envelope(code, error) + "\n";
  if (where == ErrorsTo::Stdout) {
    say_answer(line);
    return kRequestError;
  }
  say(sanitize(message(error)) + "\n" + line);
  return kBackendError;
}

int dry_run(const RunInput& input, const MxcRequest& request, const Caller& caller) {
  const auto began = monotonic_ms();
  const auto judged = judge(input, caller);
  std::string text = "Script code length: " + std::to_string(request.command_line.size()) +
                     "\nWorking directory: " + sanitize(request.cwd) + "\nScript timeout: " +
                     std::to_string(request.policy.limits.wall_ms.value_or(0)) +
                     "\nContainer name: " + sanitize(request.container_id) + "\n";
  if (judged) text += "Backend: " + std::string(name_of(judged->plan.backend)) + "\n";
  text += "Runner completed in " + std::to_string(monotonic_ms() - began) + "ms\n" +
          "Dry run completed. Result: validation " + (judged ? "passed" : "failed") + "\n";
  if (!say_answer(text)) return kRequestError;
  return judged ? 0 : refuse(judged.error(), code_of(judged.error()), ErrorsTo::Stderr);
}

int finish(const Report& report, const Execution& execution, const Diagnostics& diagnostics) {
  for (const Reduction& reduction : report.reductions) diagnostics.say(reduction_line(reduction));
  if (report.audit && report.audit->unrecorded) say_error(*report.audit->unrecorded);
  if (report.error) return refuse(*report.error, code_of(*report.error), execution.errors);
  say_lost_output(*report.outcome);
  for (const Handoff& handoff : report.outcome->handoff) {
    diagnostics.say("protected file appeared: " + handoff.path);
  }
  for (const Change& change : report.changes) {
    if (change.state == Change::State::Held)
      diagnostics.say("held back: " + change.path + "; cordon changes list " + report.run_id);
  }
  if (const auto* timed_out = std::get_if<TimedOut>(&report.outcome->end)) {
    const Error error{
        .kind = ErrorKind::Setup,
        .what = "script timed out after " + std::to_string(timed_out->limit_ms) + "ms"};
    return refuse(error, "backend_error", execution.errors);
  }
  return exit_status(report.outcome->end);
}

}  // namespace

int execute(const Execution& execution, const Caller& caller, const Diagnostics& diagnostics) {
  const MxcRequest& request = execution.request;
  for (const DroppedKey& loss : request.losses) {
    diagnostics.say("no effect: " + loss.key + ": " + loss.reason);
  }
  auto input = run_input(request, caller);
  if (!input) {
    if (!execution.dry_run) {
      RunInput asked;
      asked.argv = {"/bin/sh", "-c", request.command_line};
      record_refusal(asked, caller, input.error());
    }
    return refuse(input.error(), code_of(input.error()), execution.errors);
  }
  input->backend = execution.backend;
  if (execution.dry_run) return dry_run(*input, request, caller);
  const Fd signals = watch_signals();
  if (!signals.valid()) {
    return refuse(setup_error("cannot watch for signals", errno), "backend_error",
                  execution.errors);
  }
  input->signal_descriptor = signals.get();
  input->tell_choice = say_choice;
  return finish(run_contained(*input, caller), execution, diagnostics);
}

}  // namespace cordon::mxc
