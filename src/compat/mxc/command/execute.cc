#include "compat/mxc/command/execute.h"

#include <openssl/evp.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "compat/backends.h"
#include "config/node.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "faces/cli/session.h"
#include "host/resolve.h"
#include "run/line.h"
#include "run/policy_source.h"
#include "run/run_record.h"
#include "run/supervisor.h"

namespace cordon::mxc {

std::string_view code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Policy:
    case ErrorKind::Unsupported:
    case ErrorKind::Usage:
      return "policy_validation";
    case ErrorKind::Unavailable:
    case ErrorKind::Untrusted:
      return "backend_unavailable";
    case ErrorKind::Setup:
    case ErrorKind::Command:
    case ErrorKind::Audit:
      return "backend_error";
  }
  return "backend_error";
}

std::string envelope(std::string_view code, const Error& error) {
  std::string text = message(error);
  for (const std::string& note : error.notes) text += "; " + note;
  Node inner;
  inner.set("code", Node(code)).set("message", Node(text));
  if (!error.hint.empty()) inner.set("remediation", Node(error.hint));
  Node node;
  node.set("error", std::move(inner));
  return write_json(node, JsonStyle::Compact);
}

Diagnostics::Diagnostics(bool debug, const std::string& log_file) : debug_(debug) {
  if (log_file.empty()) return;
  // A link that an earlier run left behind would lead the lines into a file of its choice.
  file_ = Fd(::open(log_file.c_str(),
                    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600));
  if (!file_.valid()) {
    cordon::say("warning: " +
                message(setup_error("cannot open the log file " + quote(log_file), errno)) + "\n");
  }
}

void Diagnostics::say(std::string_view line) const {
  const std::string text = sanitize(line) + "\n";
  if (debug_) cordon::say(text);
  if (file_.valid()) write_all(file_.get(), text);
}

namespace {

Result<std::string> read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(setup_error("cannot read " + name, errno));
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxDocumentBytes) return fail(policy_error(name + " is larger than 1 MiB"));
  }
}

Result<RequestText> read_named(const std::string& path) {
  if (path == "-") {
    CORDON_TRY(text, read_all(STDIN_FILENO, "standard input"));
    return RequestText{std::move(text), "standard input"};
  }
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return fail(setup_error("cannot open " + quote(path), errno));
  CORDON_TRY(text, read_all(file.get(), quote(path)));
  return RequestText{std::move(text), path};
}

bool is_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || !is_base64(text) ||
      text.size() > 2 * kMaxDocumentBytes) {
    return fail(policy_error("--config-base64 is not base64"));
  }
  std::string out(text.size() / 4 * 3, '\0');
  const int length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  if (length < 0) return fail(policy_error("--config-base64 is not base64"));
  // The function counts the padding as bytes.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

Result<RequestText> request_text(const Arguments& arguments) {
  if (const auto encoded = arguments.value(FlagId::ConfigBase64)) {
    CORDON_TRY(text, decode_base64(*encoded));
    return RequestText{std::move(text), "--config-base64"};
  }
  if (const auto file = arguments.value(FlagId::Config)) return read_named(std::string(*file));
  return read_named(std::string(arguments.operands.front()));
}

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

Result<bool> is_denied(const FsRules& fs, const std::string& path, const Caller& caller) {
  for (const PathRule& rule : fs.deny) {
    CORDON_TRY(deny, canonicalize(rule.text, "/", caller));
    if (contains(deny.path, path)) return true;
  }
  return false;
}

// Given: it must be visible inside, nothing is put in its place. Left out: the first writable
// directory that no deny closes, else the first such readable one, else the root.
Result<std::string> start_directory(const MxcRequest& request, const Caller& caller) {
  const FsRules& fs = request.policy.fs;
  if (request.cwd.empty()) {
    for (const auto* rules : {&fs.write, &fs.read}) {
      for (const PathRule& rule : *rules) {
        CORDON_TRY(found, canonicalize_existing(rule.text, "/", caller));
        if (found.kind != FileKind::Directory) continue;
        CORDON_TRY(denied, is_denied(fs, found.path, caller));
        if (!denied) return found.path;
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

// Whoever wrote the document cannot type an option of `run`.
Error in_words_of_document(Error error, const MxcRequest& request) {
  const NetRules& net = request.policy.net;
  const bool of_deny = error.what.starts_with("net.deny cannot be held");
  if (!of_deny || net.mode != NetMode::Open || net.deny.empty()) return error;
  error.what =
      "\"blockedHosts\" cannot be held with defaultPolicy \"allow\": the network is then the "
      "host's "
      "own, and nothing stands between the command and a host";
  error.hint =
      "name what is to be reached in \"allowedHosts\", with which \"blockedHosts\" is held; or "
      "remove \"blockedHosts\"";
  return error;
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
  if (judged) return 0;
  const Error error = in_words_of_document(judged.error(), request);
  return refuse(error, code_of(error), ErrorsTo::Stderr);
}

int finish(const Report& report, const Execution& execution, const Diagnostics& diagnostics) {
  for (const Reduction& reduction : report.reductions) diagnostics.say(reduction_line(reduction));
  if (report.audit && report.audit->unrecorded) say_error(*report.audit->unrecorded);
  if (report.audit && report.audit->unkept) say_error(*report.audit->unkept);
  if (report.error) {
    const Error error = in_words_of_document(*report.error, execution.request);
    return refuse(error, code_of(error), execution.errors);
  }
  say_lost_output(*report.outcome);
  for (const Quarantined& handoff : report.outcome->handoff) {
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
  input->backends = every_backend(caller);
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
