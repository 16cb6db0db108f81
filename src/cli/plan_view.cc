#include "cli/plan_view.h"

#include "cli/json_parts.h"
#include "cli/talk.h"
#include "config/policy_document.h"
#include "plan/plan.h"

namespace cordon {
namespace {

Node operations(const std::vector<Op>& list) {
  std::vector<std::string> lines;
  lines.reserve(list.size());
  for (const Op& operation : list) lines.push_back(describe(operation));
  return text_list(lines);
}

}  // namespace

std::string plan_text(const JudgedRun& run) {
  std::string text = describe(run.plan);
  for (const Reduction& reduction : run.reductions) text += reduction_line(reduction) + "\n";
  return text;
}

std::string plan_json(const JudgedRun& run) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.plan/1");
  node.set("backend", run.plan.backend);
  node.set("argv", text_list(run.plan.argv));
  node.set("cwd", run.plan.cwd);
  std::vector<std::string> environment;
  for (const std::string& variable : run.plan.environment) {
    environment.push_back(describe_variable(variable, run.plan));
  }
  node.set("environment", text_list(environment));
  NodeList limits;
  for (const PlannedLimit& limit : run.plan.limits) {
    Node entry{NodeMap{}};
    entry.set("name", limit.name);
    entry.set("value", limit.value);
    entry.set("by", name_of(limit.by));
    limits.push_back(std::move(entry));
  }
  node.set("limits", std::move(limits));
  std::vector<std::string> lost;
  for (const Loss loss : run.plan.lost) lost.emplace_back(name_of(loss));
  node.set("lost", text_list(lost));
  node.set("build", operations(run.plan.build));
  node.set("confine", operations(run.plan.confine));
  node.set("seal", operations(run.plan.seal));
  node.set("policy", encode_effective(run.clamped.effective()));
  node.set("reductions", reductions_list(run.reductions));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace cordon
