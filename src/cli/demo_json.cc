#include "cli/demo_view.h"
#include "run/json_parts.h"

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
  const Policy& ceiling = panel.stage->ceiling().policy;
  Node limits{NodeMap{}};
  for (const auto& [name, holder] : enforcement.limits) limits.set(name, holder);
  Node node{NodeMap{}};
  node.set("home", panel.stage->caller().home);
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
  const Policy& ceiling = panel.stage->ceiling().policy;
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

}  // namespace cordon
