#include "faces/mcp/tools/answer.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"

namespace cordon::mcp {
namespace {

struct KindWords {
  const char* error;
  const char* type;
  const char* help;
};

KindWords kind_words(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unavailable:
      return {"Sandbox unavailable", "SandboxUnavailableError",
              "Nothing can be run here until the operator mends it: `cordon doctor` says how. Tell "
              "the user; do not try another way."};
    case ErrorKind::Untrusted:
      return {"Untrusted binary", "SandboxUntrustedBinaryError",
              "The operator has to look at the installation. Tell the user; do not try again."};
    case ErrorKind::Unsupported:
      return {"Policy not enforceable", "SandboxBackendUnsupportedError",
              "The operator's ceiling asks for what this host cannot hold; `cordon doctor` and "
              "`cordon policy clamp` say what. Asking again will not help."};
    case ErrorKind::Policy:
      return {"Policy error", "SandboxPolicyError",
              "The operator's policy could not be applied; the server's standard error names the "
              "place. Asking again will not help."};
    case ErrorKind::Setup:
      return {"Execution failed", "SandboxExecutionError",
              "This is a problem of the sandbox, not of the path or the command. Tell the user; "
              "`cordon doctor` finds the cause."};
    case ErrorKind::Command:
      return {"Execution failed", "SandboxExecutionError",
              "Give argv[0] as the name or path of an installed program, and each argument as an "
              "item of its own; there is no shell that would split them."};
    case ErrorKind::Audit:
      return {"Execution failed", "SandboxExecutionError",
              "Nothing runs without a record. The operator has to make the log writable; `cordon "
              "audit verify` finds the cause."};
    case ErrorKind::Usage:
      return {"Invalid arguments", "InvalidArguments",
              "Fix the arguments as the message says and call again."};
  }
  return {"Execution failed", "SandboxExecutionError", ""};
}

Node denial_node(const Denial& denial) {
  Node node{NodeMap{}};
  node.set("what", denial.what)
      .set("detail", shortened(denial.detail))
      .set("layer", denial.layer)
      .set("count", denial.count);
  // Rules that list hosts would tell what is permitted.
  const bool tells_nothing = denial.rule == "net.sockets" || denial.rule.starts_with("net.mode");
  if (is_limit(denial) || tells_nothing) node.set("rule", denial.rule);
  return node;
}

}  // namespace

std::string shortened(std::string_view text) {
  constexpr std::size_t kLongestListed = 200;
  const std::string clean = sanitize(text.substr(0, kLongestListed));
  return text.size() > kLongestListed ? clean + "..." : clean;
}

bool is_limit(const Denial& denial) {
  // Where the host itself ran out, no limit of the run was met.
  return denial.layer != "host" &&
         (denial.rule.starts_with("limits.") || denial.rule.starts_with("fs.scratch"));
}

ToolFault fault_of(const Error& error) {
  const KindWords words = kind_words(error.kind);
  if (error.kind == ErrorKind::Command && error.error_number == E2BIG) {
    return {words.error, "the arguments and variables are longer together than the kernel takes",
            "Give the data by stdin where the tool has it, or write it to a file and name that.",
            words.type};
  }
  return {words.error, std::string(safe_text(error.kind)), words.help, words.type};
}

ToolFault bad_arguments(const std::string& fault) {
  const KindWords words = kind_words(ErrorKind::Usage);
  return {words.error, fault, words.help, words.type};
}

std::string outside_help(const CallCeilings& bounds) {
  return help_for(bounds, std::array{Refusal::Outside});
}

Node& add_fault(Node& node, const ToolFault& fault) {
  return node.set("error", fault.error)
      .set("message", fault.message)
      .set("help", fault.help)
      .set("type", fault.type);
}

ToolResult answer_node(const Node& node, bool is_error) {
  ToolResult result = ToolResult::text(write_json(node, JsonStyle::Compact));
  result.is_error = is_error;
  return result;
}

ToolResult answer_fault(const ToolFault& fault, const std::optional<std::string>& audit_id,
                        std::optional<int> exit_code) {
  Node node{NodeMap{}};
  node.set("success", false);
  add_fault(node, fault);
  if (exit_code) node.set("exit_code", *exit_code);
  node.set("audit_id", audit_id ? Node(*audit_id) : Node());
  return answer_node(node, true);
}

EndWords words_for(const End& end) {
  struct Words {
    EndWords operator()(const Exited&) const { return {}; }
    EndWords operator()(const Signaled& by) const { return {by.signal, "signal"}; }
    EndWords operator()(const TimedOut&) const { return {{}, "timeout"}; }
    EndWords operator()(const OverLimit& over) const { return {{}, over.reason}; }
    EndWords operator()(const Cancelled&) const { return {{}, "cancelled"}; }
  };
  return std::visit(Words{}, end);
}

std::size_t moved_away(const Outcome& outcome) {
  const auto moved = [](const Quarantined& handoff) { return !handoff.moved_to.empty(); };
  return static_cast<std::size_t>(std::ranges::count_if(outcome.handoff, moved));
}

std::size_t held_back(const Report& report) {
  const auto held = [](const Change& change) { return change.state == Change::State::Held; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(report.changes, held));
  return std::max(count, report.outcome ? moved_away(*report.outcome) : 0);
}

void add_account(Node& node, const Report& report) {
  const Enforcement& held = report.enforcement;
  Node enforcement{NodeMap{}};
  enforcement.set("backend", held.backend)
      .set("namespaces", held.namespaces)
      .set("landlock", held.landlock)
      .set("seccomp", held.seccomp)
      .set("cap_drop", held.cap_drop)
      .set("no_new_privs", held.no_new_privs)
      .set("network", held.network);
  NodeList denials;
  for (const Denial& denial : report.outcome->denials) {
    if (denials.size() < kMostListed) denials.push_back(denial_node(denial));
  }
  node.set("enforcement", std::move(enforcement))
      .set("denials", std::move(denials))
      .set("policy_hash", report.policy_hash)
      .set("audit_id", report.audit ? Node(report.audit->event_id) : Node());
  if (report.approvals.empty()) return;
  NodeList approvals;
  for (const std::string& id : report.approvals) approvals.emplace_back(id);
  node.set("approvals", std::move(approvals));
}

}  // namespace cordon::mcp
