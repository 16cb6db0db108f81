#include "mcp/tools/file_call.h"

#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "mcp/tools/file_inside.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kStderrBytes = 1024;
constexpr std::size_t kLongestShownPath = 1024;

// The kernel's own files look regular and are none: reading one may act, and what it shows is a
// process, not a document.
bool is_kernel_place(std::string_view path) {
  return contains("/proc", path) || contains("/sys", path) || contains("/dev", path);
}

}  // namespace

Node FileCall::shown_path() const { return sanitize(path_.substr(0, kLongestShownPath)); }

Node FileCall::failure(const ToolFault& fault, const std::string& err, Node exit_code) const {
  Node node{NodeMap{}};
  node.set("success", false).set("path", shown_path());
  add_fault(node, fault);
  node.set("stderr", err).set("exit_code", std::move(exit_code));
  return node;
}

ToolResult FileCall::refuse(const Error& error, const ToolFault& fault) {
  Node node = failure(fault, "", Node());
  const auto audit_id = toolbox_.refuse(*caller_, call_, kind_.tool, error);
  node.set("audit_id", audit_id ? Node(*audit_id) : Node());
  return answer_node(node, true);
}

std::optional<ToolResult> FileCall::prepare() {
  auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  caller_ = std::move(*caller);
  auto bounds = toolbox_.bounds(*caller_);
  if (!bounds) return refuse(bounds.error(), fault_of(bounds.error()));
  bounds_ = std::move(*bounds);
  if (!kind_.relative && !path_.starts_with('/') && !path_.starts_with('~')) {
    const std::string fault = "path must be absolute or begin with ~/";
    return refuse(usage_error(fault), bad_arguments(fault));
  }
  auto place = canonicalize(path_, kind_.relative ? caller_->cwd : "/", *caller_);
  if (!place) {
    return refuse(place.error(), {"Path not accessible", "the path cannot be resolved",
                                  outside_help(*bounds_), "SandboxPolicyError"});
  }
  place_ = std::move(*place);
  switch (shield_of(*bounds_, place_.path, kind_.wish)) {
    case Shield::None:
      break;
    case Shield::Denied:
      return refuse(policy_error("a deny of a ceiling covers the path"), outside());
    case Shield::Protected:
      return refuse(policy_error("the path is protected"), held());
  }
  if (place_.kind == FileKind::Other || is_kernel_place(place_.path)) {
    return refuse(policy_error("the path is a special file"),
                  {"Path not accessible", "FIFOs, devices, sockets and kernel files are refused",
                   "Name a regular file.", "SandboxPolicyError"});
  }
  const bool is_directory = place_.kind == FileKind::Directory && !kind_.directory;
  if (is_directory && permitted(*bounds_, place_.path, Wish::Read)) {
    return refuse(
        policy_error("the path is a directory"),
        {kind_.failed, "the path is a directory", "Name a file in it.", "SandboxPolicyError"});
  }
  return std::nullopt;
}

Report FileCall::run(Policy policy, const std::vector<std::string>& words,
                     std::optional<std::string> content, Output out) const {
  RunInput input = toolbox_.input(*bounds_, call_, kind_.tool);
  input.asker.path = place_.path;
  input.policy = std::move(policy);
  // Paths are canonical; a file is reached whether or not the server's directory is granted.
  input.cwd = "/";
  input.policy.limits.output = std::uint64_t{4} * kMostRead;
  end_with_approvals(input.policy, *bounds_);
  input.helper = caller_->executable;
  input.argv = {caller_->executable, std::string(kFileInside)};
  input.argv.insert(input.argv.end(), words.begin(), words.end());
  if (content) input.streams.in = Input::of_bytes(std::move(*content));
  input.streams.out = std::move(out);
  return run_contained(input, *caller_);
}

ToolFault FileCall::held() const {
  return {kind_.blocked,
          "a protected file: tools and agents load it, so it cannot be changed from here",
          "Tell the user; a person can edit it.", "SandboxDeniedError"};
}

ToolFault FileCall::outside() const {
  return {kind_.blocked, "outside the operator's allowed paths", outside_help(*bounds_),
          "SandboxDeniedError"};
}

ToolResult FileCall::not_started(const Report& report) const {
  toolbox_.tell_operator(kind_.tool, *report.error);
  ToolFault fault = fault_of(*report.error);
  // A directory that is never granted, such as a whole home, refuses the policy itself.
  if (report.error->kind == ErrorKind::Policy && !is_permitted()) fault = outside();
  if (report.error->kind == ErrorKind::Setup || report.error->kind == ErrorKind::Command) {
    fault.error = "Sandbox helper could not run the command";
    fault.message = "an internal problem of the sandbox: the path was neither read nor written";
  }
  Node node = failure(fault, "", Node());
  node.set("audit_id", report.audit ? Node(report.audit->event_id) : Node());
  return answer_node(node, true);
}

ToolResult FileCall::blocked(const Report& report) const {
  const Outcome& outcome = *report.outcome;
  const int status = exit_status(outcome.end);
  const bool exited = std::holds_alternative<Exited>(outcome.end);
  ToolFault fault = outside();
  std::string err;
  if (std::holds_alternative<TimedOut>(outcome.end)) {
    fault = {"Timeout", "the file could not be handled in time", "Try again later.",
             "SandboxTimeoutError"};
  } else if (is_permitted()) {
    fault.error = exited ? kind_.blocked : kind_.failed;
    fault.message =
        exited ? "inside the allowed paths, but the system refused" : "it was ended early";
    fault.help = "The message in stderr is the system's own.";
    fault.type = "SandboxExecutionError";
    if (outcome.err) err = sanitize(outcome.err->text()).substr(0, kStderrBytes);
    if (status == EROFS || status == EBUSY) fault = held();
  }
  Node node = failure(fault, err, status != 0 ? Node(status) : Node());
  add_account(node, report);
  return answer_node(node, true);
}

ToolResult FileCall::failed(const Report& report, const ToolFault& fault) const {
  Node node = failure(fault, "", 0);
  add_account(node, report);
  return answer_node(node, true);
}

ToolResult FileCall::moved_away(const Report& report) const {
  return failed(report, {kind_.blocked, "a protected file: the host keeps its version, or has none",
                         "Tell the user; what was written is kept, and a person can take it with "
                         "cordon changes.",
                         "SandboxDeniedError"});
}

}  // namespace cordon::mcp
