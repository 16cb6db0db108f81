#include "base/text.h"
#include "config/policy_document.h"
#include "plan/plan.h"
#include "run/answers.h"
#include "run/json_parts.h"

namespace cordon {
namespace {

Node operations(const std::vector<Op>& list) {
  std::vector<std::string> lines;
  lines.reserve(list.size());
  for (const Op& operation : list) lines.push_back(describe(operation));
  return text_list(lines);
}

std::string plan_text(const JudgedRun& run) {
  std::string text = describe(run.plan);
  for (const Reduction& reduction : run.reductions) text += reduction_line(reduction) + "\n";
  const std::string line = choice_line(run.choice, run.plan.lost);
  if (!line.empty()) text += sanitize(line) + "\n";
  return text;
}

std::string plan_json(const JudgedRun& run) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.plan/1");
  node.set("backend", name_of(run.plan.backend));
  node.set("chosen_by", name_of(run.choice.by));
  std::vector<std::string> passed_over;
  for (const PassedOver& passed : run.choice.passed_over) {
    passed_over.push_back(std::string(name_of(passed.backend)) + ": " + passed.reason);
  }
  node.set("passed_over", text_list(passed_over));
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
  node.set("lost", loss_list(run.plan.lost));
  node.set("build", operations(run.plan.build));
  node.set("confine", operations(run.plan.confine));
  node.set("seal", operations(run.plan.seal));
  node.set("policy", encode_effective(run.clamped.effective()));
  node.set("reductions", reductions_list(run.reductions));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

Result<PlanAnswer> plan_answer(const RunInput& input, const Caller& caller,
                               const std::vector<Reduction>& also) {
  CORDON_TRY(run, judge(input, caller));
  run.reductions.insert(run.reductions.end(), also.begin(), also.end());
  return PlanAnswer{run.choice, run.plan.lost, run.reductions, plan_text(run), plan_json(run)};
}

}  // namespace cordon
