#include "faces/loop/displays.h"

#include <algorithm>

#include "base/text.h"
#include "config/node.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "policy/agents.h"

namespace cordon::loop {
namespace {

Node begin(std::string_view name) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.loop/1").set("event", name);
  return node;
}

Node progress_node(const FeatureProgress& one) {
  Node node{NodeMap{}};
  node.set("id", one.id).set("state", name_of(one.state)).set("attempts", one.attempts);
  node.set("wall_ms", one.wall_ms).set("tokens", one.spent.tokens);
  node.set("micro_dollars", one.spent.micro_dollars);
  node.set("reason", one.reason.empty() ? Node() : Node(one.reason));
  return node;
}

Node progress_list(const std::vector<FeatureProgress>& features) {
  NodeList list;
  for (const FeatureProgress& one : features) list.push_back(progress_node(one));
  return list;
}

NodeList list_of(const std::vector<std::string>& texts) {
  NodeList nodes;
  for (const std::string& text : texts) nodes.emplace_back(text);
  return nodes;
}

FeatureProgress total_of(const std::vector<FeatureProgress>& features) {
  FeatureProgress total;
  for (const FeatureProgress& one : features) {
    total.attempts += one.attempts;
    total.wall_ms += one.wall_ms;
    total.spent.tokens += one.spent.tokens;
    total.spent.micro_dollars += one.spent.micro_dollars;
  }
  return total;
}

Node total_node(const std::vector<FeatureProgress>& features) {
  const FeatureProgress total = total_of(features);
  Node node{NodeMap{}};
  node.set("attempts", total.attempts).set("wall_ms", total.wall_ms);
  return std::move(
      node.set("tokens", total.spent.tokens).set("micro_dollars", total.spent.micro_dollars));
}

struct Nodes {
  Node operator()(const ProbeStarted&) const { return begin("probe_started"); }
  Node operator()(const LoopStarted& event) const {
    Node layers{NodeMap{}};
    const Enforcement& held = event.enforcement;
    layers.set("backend", held.backend).set("namespaces", held.namespaces);
    layers.set("landlock", held.landlock).set("seccomp", held.seccomp);
    layers.set("cap_drop", held.cap_drop).set("network", held.network);
    Node credential;
    if (event.credential) {
      credential = Node{NodeMap{}};
      credential.set("kind", name_of(event.credential->kind)).set("label", event.credential->label);
      credential.set("copied", event.credential->copied);
    }
    NodeList warnings;
    for (const std::string& warning : event.warnings) warnings.emplace_back(warning);
    return begin("loop_started")
        .set("warnings", std::move(warnings))
        .set("project", event.project)
        .set("agent", event.agent)
        .set("enforcement", std::move(layers))
        .set("credential", std::move(credential))
        .set("features", progress_list(event.features));
  }
  Node operator()(const BaselineStarted& event) const {
    return begin("baseline_started").set("id", event.id).set("command", event.command);
  }
  Node operator()(const BaselineEnded& event) const {
    return begin("baseline_ended")
        .set("id", event.id)
        .set("passed", event.passed)
        .set("status", event.status);
  }
  Node operator()(const AttemptStarted& event) const {
    return begin("attempt_started")
        .set("id", event.id)
        .set("title", event.title)
        .set("attempt", event.attempt)
        .set("most", event.most);
  }
  Node operator()(const AgentTold& event) const { return std::visit(*this, event.event); }
  Node operator()(const Said& event) const { return begin("agent_said").set("text", event.text); }
  Node operator()(const UsedTool& event) const {
    return begin("agent_tool").set("tool", event.tool).set("detail", event.detail);
  }
  Node operator()(const ToolAnswered& event) const {
    return begin("agent_tool_answered").set("failed", event.failed).set("text", event.text);
  }
  Node operator()(const Spent& event) const {
    return begin("agent_spent")
        .set("tokens", event.tokens)
        .set("micro_dollars", event.micro_dollars);
  }
  Node operator()(const Claimed& event) const {
    return begin("agent_claimed").set("success", event.success).set("text", event.text);
  }
  Node operator()(const Unreadable& event) const {
    return begin("agent_unreadable").set("excerpt", event.excerpt);
  }
  Node operator()(const AgentNoted& event) const {
    return begin("agent_stderr").set("line", event.line);
  }
  Node operator()(const AgentEnded& event) const {
    NodeList denials;
    for (const Denial& denial : event.denials) {
      Node node{NodeMap{}};
      node.set("what", denial.what).set("detail", denial.detail).set("layer", denial.layer);
      const auto or_null = [](const std::string& text) {
        return text.empty() ? Node() : Node(text);
      };
      node.set("count", denial.count).set("path", or_null(denial.path));
      node.set("rule", or_null(denial.rule)).set("change", or_null(denial.change));
      denials.push_back(std::move(node));
    }
    NodeList handoff;
    for (const Quarantined& one : event.handoff) {
      Node node{NodeMap{}};
      node.set("path", one.path).set("kind", one.kind);
      node.set("moved_to", one.moved_to.empty() ? Node() : Node(one.moved_to));
      node.set("restored", one.restored);
      handoff.push_back(std::move(node));
    }
    return begin("agent_ended")
        .set("status", cordon::exit_status(event.end))
        .set("timed_out", std::holds_alternative<TimedOut>(event.end))
        .set("duration_ms", event.duration_ms)
        .set("denials", std::move(denials))
        .set("handoff", std::move(handoff));
  }
  Node operator()(const FilesChanged& event) const {
    return begin("files_changed")
        .set("changes", std::uint64_t{event.changes})
        .set("files", list_of(event.files));
  }
  Node operator()(const VerifyStarted& event) const {
    return begin("verify_started").set("command", event.command);
  }
  Node operator()(const VerifyEnded& event) const {
    return begin("verify_ended")
        .set("accepted", event.accepted)
        .set("status", event.status)
        .set("refused", event.refused.empty() ? Node() : Node(event.refused))
        .set("output", event.output);
  }
  Node operator()(const StageEnded& event) const {
    return begin("stage_ended")
        .set("run", event.run)
        .set("applied", event.applied)
        .set("changes", std::uint64_t{event.changes})
        .set("files", list_of(event.files))
        .set("held", list_of(event.held))
        .set("conflicts", list_of(event.conflicts));
  }
  Node operator()(const Committed& event) const {
    return begin("committed").set("done", event.done).set("output", event.output);
  }
  Node operator()(const FeatureEnded& event) const {
    return begin("feature_ended").set("feature", progress_node(event.progress));
  }
  Node operator()(const Warned& event) const {
    return begin("warning")
        .set("text", event.text)
        .set("hint", event.hint.empty() ? Node() : Node(event.hint));
  }
  Node operator()(const Paused&) const { return begin("paused"); }
  Node operator()(const Resumed&) const { return begin("resumed"); }
  Node operator()(const LoopEnded& event) const {
    Node error;
    if (event.error) {
      error = Node{NodeMap{}};
      error.set("kind", name_of(event.error->kind)).set("code", code(event.error->kind));
      error.set("message", message(*event.error)).set("hint", event.error->hint);
    }
    return begin("loop_ended")
        .set("why", name_of(event.why))
        .set("reason", event.reason.empty() ? Node() : Node(event.reason))
        .set("error", std::move(error))
        .set("features", progress_list(event.features))
        .set("total", total_node(event.features));
  }
};

}  // namespace

void JsonDisplay::show(const LoopEvent& event) {
  write_(write_json(std::visit(Nodes{}, event), JsonStyle::Compact));
}

namespace {

constexpr std::size_t kLongestShown = 500;

std::string shown(std::string_view text) {
  std::string safe = sanitize(text.substr(0, kLongestShown));
  if (text.size() > kLongestShown) safe.append(" ...");
  return safe;
}

// Every line of a text, indented under what it belongs to.
std::vector<std::string> block(std::string_view first, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.find('\n') == std::string_view::npos) {
    return {std::string(first) + (text.empty() ? "" : " ") + shown(text)};
  }
  std::vector<std::string> lines{std::string(first)};
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) lines.push_back("    " + shown(line));
  }
  return lines;
}

std::string money(std::uint64_t micro_dollars) {
  constexpr std::uint64_t kCent = 10'000;
  const std::uint64_t cents = micro_dollars / kCent;
  const std::string rest = std::to_string(cents % 100);
  return "$" + std::to_string(cents / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

std::string end_of(const End& end) {
  struct Words {
    std::string operator()(const Exited& end) const {
      return "ended with status " + std::to_string(end.code);
    }
    std::string operator()(const Signaled& end) const {
      return "was ended by " + signal_name(end.signal);
    }
    std::string operator()(const TimedOut& end) const {
      return "was ended after " + format_duration(end.limit_ms);
    }
    std::string operator()(const OverLimit& end) const { return "was ended: " + end.reason; }
    std::string operator()(const Cancelled&) const { return "was ended on request"; }
  };
  return std::visit(Words{}, end);
}

// `files` are the first of `all`.
void name_files(const std::vector<std::string>& files, std::size_t all,
                std::vector<std::string>& lines) {
  for (const std::string& file : files) lines.push_back("  " + shown(file));
  if (all > files.size()) lines.push_back("  and " + std::to_string(all - files.size()) + " more");
}

struct Lines {
  using List = std::vector<std::string>;

  List operator()(const ProbeStarted&) const { return {"probing containment"}; }
  List operator()(const LoopStarted& event) const {
    List lines{"project " + shown(event.project) + ", agent " + shown(event.agent),
               mechanism_line(event.enforcement)};
    if (event.credential) lines.push_back(describe(*event.credential));
    for (const std::string& warning : event.warnings) lines.push_back("warning: " + shown(warning));
    for (std::size_t i = 0; i < event.features.size(); ++i) {
      const FeatureProgress& one = event.features[i];
      lines.push_back("  " + std::string(name_of(one.state)) + "  " + one.id + ": " +
                      shown(event.titles[i]));
    }
    return lines;
  }
  List operator()(const BaselineStarted& event) const {
    return {"== " + event.id + ": verify before the agent: " + shown(event.command)};
  }
  List operator()(const BaselineEnded& event) const {
    if (!event.passed) return {};
    return {
        "verify passes already: only an attempt that changes something is accepted, and this "
        "command cannot tell whether it did the work"};
  }
  List operator()(const AttemptStarted& event) const {
    return {"== " + event.id + ": " + shown(event.title) + " (attempt " +
            std::to_string(event.attempt) + " of " + std::to_string(event.most) + ")"};
  }
  List operator()(const AgentTold& event) const { return std::visit(*this, event.event); }
  List operator()(const Said& event) const { return block("agent:", event.text); }
  List operator()(const UsedTool& event) const {
    return {"agent uses " + shown(event.tool) + (event.detail.empty() ? "" : ": ") +
            shown(event.detail)};
  }
  List operator()(const ToolAnswered& event) const {
    std::string_view text = event.text;
    while (text.ends_with('\n')) text.remove_suffix(1);
    const auto more = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    // What a tool says last is what it failed of.
    const std::string_view line =
        event.failed ? text.substr(text.rfind('\n') + 1) : text.substr(0, text.find('\n'));
    if (event.failed) return {"  failed" + (line.empty() ? std::string() : ": " + shown(line))};
    if (line.empty()) return {};
    if (more == 0) return {"  " + shown(line)};
    return {"  " + shown(line) + " (and " + std::to_string(more) +
            (more == 1 ? " more line)" : " more lines)")};
  }
  List operator()(const Spent& event) const {
    return {"agent used " + std::to_string(event.tokens) + " tokens, " +
            money(event.micro_dollars)};
  }
  List operator()(const Claimed& event) const {
    return {event.success ? "agent says it is done" : "agent says it failed"};
  }
  List operator()(const Unreadable& event) const {
    return {"agent wrote a line that is not of its stream: " + shown(event.excerpt)};
  }
  List operator()(const AgentNoted& event) const { return {"agent stderr: " + shown(event.line)}; }
  List operator()(const AgentEnded& event) const {
    List lines{"agent " + end_of(event.end) + " after " +
               format_duration(std::max<std::uint64_t>(event.duration_ms, 1))};
    for (const Denial& denial : event.denials) lines.push_back("  " + shown(denial_text(denial)));
    for (const Quarantined& one : event.handoff) {
      const char* what = one.moved_to.empty() ? "changed: " : "moved away: ";
      lines.push_back((one.restored ? "put back: " : what) + shown(one.path) + " (" + one.kind +
                      ")");
    }
    return lines;
  }
  List operator()(const FilesChanged& event) const {
    List lines{"in the project: " + std::to_string(event.changes) +
               (event.changes == 1 ? " change" : " changes")};
    name_files(event.files, event.changes, lines);
    return lines;
  }
  List operator()(const VerifyStarted& event) const { return {"verify: " + shown(event.command)}; }
  List operator()(const VerifyEnded& event) const {
    if (event.accepted) return {"verify: accepted"};
    if (!event.refused.empty()) return {"verify: not accepted: " + event.refused};
    return block("verify: not accepted, status " + std::to_string(event.status) +
                     (event.output.empty() ? "" : ":"),
                 event.output);
  }
  List operator()(const StageEnded& event) const {
    const std::string count =
        std::to_string(event.changes) + (event.changes == 1 ? " change" : " changes");
    List lines{event.applied
                   ? "applied " + count + "; cordon changes restore " + event.run + " undoes it"
                   : "discarded " + count};
    name_files(event.files, event.changes, lines);
    if (!event.applied) return lines;
    for (const std::string& path : event.held) {
      lines.push_back("held back: " + shown(path) + "; cordon changes apply " + event.run + " " +
                      shown(shell_word(path)));
    }
    for (const std::string& path : event.conflicts) {
      lines.push_back("conflict: " + shown(path) +
                      " has changed on the host too; cordon changes diff " + event.run + " " +
                      shown(shell_word(path)));
    }
    return lines;
  }
  List operator()(const Committed& event) const {
    if (event.done) return {"committed"};
    return block("not committed:", event.output);
  }
  List operator()(const FeatureEnded& event) const {
    const FeatureProgress& one = event.progress;
    return {"== " + one.id + ": " + std::string(name_of(one.state)) +
            (one.reason.empty() ? "" : " (" + shown(one.reason) + ")")};
  }
  List operator()(const Warned& event) const {
    List lines{"warning: " + shown(event.text)};
    if (!event.hint.empty()) lines.push_back("hint: " + shown(event.hint));
    return lines;
  }
  List operator()(const Paused&) const { return {"paused"}; }
  List operator()(const Resumed&) const { return {"going on"}; }
  List operator()(const LoopEnded& event) const {
    const std::string totals = totals_line(event.features);
    if (totals.empty()) return {end_line(event)};
    return {"in all: " + totals, end_line(event)};
  }
};

}  // namespace

std::string spent_words(const Spent& spent) {
  if (spent.tokens == 0 && spent.micro_dollars == 0) return {};
  std::string text = std::to_string(spent.tokens) + " tokens";
  return spent.micro_dollars == 0 ? text : text + ", " + money(spent.micro_dollars);
}

std::string totals_line(const std::vector<FeatureProgress>& features) {
  const FeatureProgress total = total_of(features);
  if (total.attempts == 0) return {};
  const std::string spent = spent_words(total.spent);
  return std::to_string(total.attempts) + (total.attempts == 1 ? " attempt, " : " attempts, ") +
         format_duration(std::max<std::uint64_t>(total.wall_ms, 1)) +
         (spent.empty() ? "" : ", " + spent);
}

std::string mechanism_line(const Enforcement& enforcement) {
  std::string layers;
  const auto add = [&](bool there, const char* name) {
    if (there) layers.append(layers.empty() ? "" : ", ").append(name);
  };
  add(enforcement.namespaces, "namespaces");
  add(enforcement.landlock, "landlock");
  add(enforcement.seccomp, "seccomp");
  add(enforcement.cap_drop, "capabilities");
  return "contained by " + enforcement.backend + ", network " + enforcement.network + ": " + layers;
}

std::string end_line(const LoopEnded& end) {
  const std::string why(name_of(end.why));
  if (!end.error) return "loop " + why + (end.reason.empty() ? "" : ": " + end.reason);
  std::string text;
  switch (end.error->kind) {
    case ErrorKind::Setup:
      text = "sandbox setup failed: ";
      break;
    case ErrorKind::Unavailable:
    case ErrorKind::Untrusted:
    case ErrorKind::Unsupported:
      text = "sandbox compatibility check failed: ";
      break;
    case ErrorKind::Policy:
    case ErrorKind::Command:
    case ErrorKind::Audit:
    case ErrorKind::Usage:
      text = "sandbox error: ";
      break;
  }
  return "loop " + why + ": " + text + message(*end.error);
}

std::vector<std::string> lines_of(const LoopEvent& event) { return std::visit(Lines{}, event); }

void PlainDisplay::show(const LoopEvent& event) {
  for (const std::string& line : lines_of(event)) write_(line);
}

}  // namespace cordon::loop
