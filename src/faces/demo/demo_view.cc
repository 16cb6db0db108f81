#include "faces/demo/demo_view.h"

#include <unistd.h>

#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "run/answers.h"

namespace cordon {
namespace {

using demo::Scenario;

Node paths(const std::vector<std::string>& read, const std::vector<std::string>& write) {
  Node node{NodeMap{}};
  node.set("read", text_list(read));
  node.set("write", text_list(write));
  return node;
}

Node panel_node(const DemoPanel& panel) {
  const Enforcement& enforcement = panel.proof.enforcement;
  const Policy& ceiling = panel.runner->ceiling().policy;
  Node limits{NodeMap{}};
  for (const auto& [name, holder] : enforcement.limits) limits.set(name, holder);
  Node node{NodeMap{}};
  node.set("home", panel.runner->caller().home);
  node.set("ceiling", paths(as_written(ceiling.fs.read), as_written(ceiling.fs.write)));
  node.set("backend", enforcement.backend);
  node.set("verified", panel.proof.outcome.has_value());
  node.set("landlock", enforcement.landlock);
  node.set("seccomp", enforcement.seccomp);
  node.set("namespaces", enforcement.namespaces);
  node.set("limits", std::move(limits));
  node.set("network", enforcement.network);
  node.set("identity", Node());
  node.set("run_code", panel.run_code);
  node.set("keychain", "hard-disabled");
  return node;
}

Node clamped(const std::optional<Report>& report) {
  if (!report) return {};
  auto policy = read_json(report->policy_json, "policy");
  return policy ? std::move(*policy) : Node();
}

Node scenario_node(const DemoPanel& panel, int act, const Scenario& scenario) {
  const std::optional<Report>& report = scenario.report;
  const bool ran = report && report->outcome;
  const Policy& ceiling = panel.runner->ceiling().policy;
  Node requested = paths(scenario.attempt.read, scenario.attempt.write);
  requested.set("argv", text_list(scenario.attempt.argv));
  Node node{NodeMap{}};
  node.set("act", act);
  node.set("title", scenario.title);
  node.set("requested", std::move(requested));
  node.set("ceiling", paths(as_written(ceiling.fs.read), as_written(ceiling.fs.write)));
  node.set("dropped", report ? reductions_list(report->reductions) : Node(NodeList{}));
  node.set("clamped", clamped(report));
  node.set("exit", ran ? Node(exit_status(report->outcome->end)) : Node());
  node.set("allowed", ran ? Node(exit_status(report->outcome->end) == 0) : Node());
  node.set("tier", ran ? Node(report->enforcement.backend) : Node());
  node.set("error", report && report->error ? error_object(*report->error) : Node());
  node.set("expected", scenario.attempt.argv.empty() ? Node() : Node(name_of(scenario.expected)));
  node.set("seen", scenario.sight.what);
  node.set("behaved", scenario.behaved());
  return node;
}

}  // namespace

std::string demo_json(const DemoPanel& panel, const std::vector<PlayedAct>& played) {
  NodeList scenarios;
  for (const PlayedAct& act : played) {
    for (const Scenario& scenario : act.scenarios) {
      scenarios.push_back(scenario_node(panel, act.act->number, scenario));
    }
  }
  const DemoScore score = demo_score(played);
  Node node{NodeMap{}};
  node.set("schema", "cordon.demo/1");
  node.set("panel", panel_node(panel));
  node.set("scenarios", std::move(scenarios));
  node.set("behaved", std::uint64_t{score.behaved});
  node.set("total", std::uint64_t{score.total});
  return write_json(node, JsonStyle::Pretty) + "\n";
}

namespace {

using demo::Attempt;
using demo::DemoRunner;
using demo::Scenario;

std::string row(std::string_view name, std::string_view value) {
  constexpr std::size_t kWidth = 12;
  std::string text = "    " + std::string(name);
  text.resize(4 + kWidth, ' ');
  return text + sanitize(value) + "\n";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text.empty() ? "-" : text;
}

std::string command_line(const DemoRunner& runner, const Attempt& attempt) {
  std::vector<std::string> words;
  for (const std::string& word : attempt.argv) {
    // "~" alone needs no quotes here: it stands for the home that was made.
    words.push_back(quote(word) == word ? runner.shown(word) : quote(word));
  }
  return joined(words, " ");
}

std::string request(const Attempt& attempt) {
  return "read " + joined(attempt.read, ", ") + "; write " + joined(attempt.write, ", ");
}

std::string decision(const Report& report) {
  std::string text;
  for (const Reduction& reduction : report.reductions) {
    text += (text.empty() ? "" : "; ") + reduction_line(reduction);
  }
  return text.empty() ? "granted as asked for" : text;
}

std::string effective(const DemoRunner& runner, const Report& report) {
  const auto policy = read_json(report.policy_json, "policy");
  const Node* files = policy ? policy->find("fs") : nullptr;
  if (files == nullptr) return "none";
  std::string text;
  for (const char* key : {"read", "write"}) {
    std::vector<std::string> words;
    const Node* list = files->find(key);
    if (list == nullptr || list->list() == nullptr) continue;
    for (const Node& path : *list->list()) {
      if (path.text() != nullptr) words.push_back(runner.shown(*path.text()));
    }
    text += std::string(key) + " " + joined(words, ", ") + "; ";
  }
  return text + "network " + report.enforcement.network;
}

std::string layers(const Enforcement& enforcement) {
  std::string text;
  const auto add = [&](bool in_force, std::string_view name) {
    if (in_force) text.append(text.empty() ? "" : ", ").append(name);
  };
  add(enforcement.namespaces, "namespaces");
  add(enforcement.pivot_root, "a root of its own");
  add(enforcement.landlock, "Landlock");
  add(enforcement.seccomp, "seccomp");
  add(enforcement.cap_drop, "no capabilities");
  add(enforcement.no_new_privs, "no new privileges");
  return text;
}

std::string limits(const Enforcement& enforcement) {
  std::vector<std::string> words;
  words.reserve(enforcement.limits.size());
  for (const auto& [name, holder] : enforcement.limits)
    words.emplace_back(name).append(" by ").append(holder);
  return joined(words, ", ");
}

}  // namespace

std::vector<std::string> as_written(const std::vector<PathRule>& rules) {
  std::vector<std::string> words;
  words.reserve(rules.size());
  for (const PathRule& rule : rules) words.push_back(rule.text);
  return words;
}

std::string joined_rules(const std::vector<PathRule>& rules) {
  return joined(as_written(rules), ", ");
}

DemoScore demo_score(const std::vector<PlayedAct>& played) {
  DemoScore score;
  for (const PlayedAct& act : played) {
    for (const Scenario& scenario : act.scenarios) {
      ++score.total;
      if (scenario.behaved()) ++score.behaved;
    }
  }
  return score;
}

std::string demo_panel_text(const DemoPanel& panel) {
  const Policy& ceiling = panel.runner->ceiling().policy;
  const Enforcement& enforcement = panel.proof.enforcement;
  std::string text = "Cordon: what is in force\n";
  text += row("home", panel.runner->caller().home + " (made for this, removed at the end)");
  text += row("ceiling", "read " + joined_rules(ceiling.fs.read) + "; write " +
                             joined_rules(ceiling.fs.write) + "; deny " +
                             joined_rules(ceiling.fs.deny));
  text += row("backend", enforcement.backend + " (verified by a contained run)");
  text += row("layers", layers(enforcement));
  text += row("limits", limits(enforcement));
  text += row("network", enforcement.network);
  text += row("identity", "none configured");
  text += row("run_code", panel.run_code ? "on in your cordon mcp" : "off in your cordon mcp");
  text += row("keychain", "hard-disabled: no policy can ask for it");
  text += row("audit", "every run is recorded before it starts");
  return text;
}

std::string demo_act_text(const demo::Act& act) {
  return "\nAct " + std::to_string(act.number) + ": " + std::string(act.title) + "\n\n" +
         std::string(act.story);
}

std::string demo_scenario_text(const DemoRunner& runner, const Scenario& scenario) {
  const bool behaved = scenario.behaved();
  std::string text = "\n  " +
                     tinted(STDOUT_FILENO, behaved ? Tint::Good : Tint::Bad,
                            behaved ? "[OK]" : "[NOT AS DESIGNED]") +
                     " " + sanitize(scenario.title) + "\n";
  if (!scenario.attempt.argv.empty()) {
    text += row("command", command_line(runner, scenario.attempt));
    text += row("asked for", request(scenario.attempt));
  }
  if (scenario.report && scenario.report->outcome) {
    text += row("clamp", decision(*scenario.report));
    text += row("in force", effective(runner, *scenario.report));
  }
  if (!scenario.attempt.argv.empty()) {
    text += row("expected", name_of(scenario.expected));
    text += row("verdict", scenario.verdict());
  }
  return text + row("seen", scenario.sight.what);
}

std::string demo_end_text(const DemoScore& score) {
  const bool all = score.behaved == score.total;
  return "\n" +
         tinted(STDOUT_FILENO, all ? Tint::Good : Tint::Bad,
                std::to_string(score.behaved) + "/" + std::to_string(score.total) +
                    " scenarios behaved exactly as designed") +
         "\n\nTry it in a project of yours:\n"
         "    cordon run -- sh -c 'echo hello > made.txt'   works: the project is yours to change\n"
         "    cordon run -- cat ~/.ssh/id_ed25519           fails: inside there is no such file\n"
         "    cordon audit verify                           both are recorded, and the record "
         "holds\n";
}

}  // namespace cordon
