#include "run/answers.h"

#include "base/path.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/host_settings.h"
#include "host/resolve.h"
#include "plan/plan.h"
#include "run/choose.h"

namespace cordon {

Node reductions_list(const std::vector<Reduction>& reductions) {
  NodeList list;
  for (const Reduction& reduction : reductions) {
    Node node{NodeMap{}};
    node.set("what", reduction.what);
    node.set("asked", reduction.asked);
    node.set("got", reduction.got ? Node(*reduction.got) : Node());
    node.set("because", name_of(reduction.because));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node error_object(const Error& error) {
  Node node{NodeMap{}};
  node.set("kind", name_of(error.kind));
  node.set("code", error.exit_status);
  node.set("message", message(error));
  node.set("hint", error.hint.empty() ? Node() : Node(error.hint));
  return node;
}

Node loss_list(const std::vector<Loss>& lost) {
  NodeList list;
  for (const Loss loss : lost) list.emplace_back(name_of(loss));
  return {std::move(list)};
}

Node text_list(const std::vector<std::string>& texts) {
  NodeList list;
  for (const std::string& text : texts) list.emplace_back(text);
  return {std::move(list)};
}

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
  CORDON_CHECK(refuse_nesting(caller));
  CORDON_TRY(run, judge(input, caller));
  run.reductions.insert(run.reductions.end(), also.begin(), also.end());
  return PlanAnswer{run.choice, run.plan.lost, run.reductions, plan_text(run), plan_json(run)};
}

namespace {

std::vector<PathRule> rules_of(const std::vector<Grant>& grants) {
  std::vector<PathRule> rules;
  rules.reserve(grants.size());
  for (const Grant& grant : grants) rules.push_back({grant.path, {}});
  return rules;
}

// The effective policy as a document that could be read again.
Policy written_out(const Effective& effective) {
  Policy policy;
  policy.name = effective.name;
  policy.fs.read = rules_of(effective.read);
  policy.fs.write = rules_of(effective.write);
  for (const DenyGlob& deny : effective.deny) {
    std::string text = deny.anchor;
    if (text.empty()) {
      text = deny.pattern;
    } else if (!deny.pattern.empty()) {
      text = join(deny.anchor, deny.pattern);
    }
    policy.fs.deny.push_back({std::move(text), {}});
  }
  policy.fs.scratch = effective.scratch;
  policy.fs.home = effective.home;
  policy.fs.caches = effective.caches;
  policy.fs.trust_tracked = effective.trust_tracked;
  policy.fs.mode = effective.mode;
  policy.fs.stage = effective.stage;
  policy.net = effective.net;
  policy.net.sockets = rules_of(effective.sockets);
  policy.env = effective.env;
  policy.limits = effective.limits;
  policy.require.layers = effective.require;
  policy.agent = effective.agent;
  return policy;
}

std::string clamp_text(const ClampAnswer& answer) {
  std::string text = answer.policy.toml();
  if (!answer.reductions.empty()) text += "\n";
  for (const Reduction& reduction : answer.reductions) {
    text += "# " + reduction_line(reduction) + "\n";
  }
  return text;
}

std::string clamp_json(const ClampAnswer& answer, const Effective& effective) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.clamp/1");
  node.set("ceilings", text_list(answer.ceilings));
  node.set("policy", encode_effective(effective));
  node.set("reductions", reductions_list(answer.reductions));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

Result<ClampAnswer> clamp_answer(const RunInput& input, const Caller& caller,
                                 const std::vector<Reduction>& also) {
  CORDON_CHECK(refuse_nesting(caller));
  CORDON_TRY(judgement, judge_policy(input.policy, input.ceilings, caller));
  const Effective& effective = judgement.clamped.effective();
  ClampAnswer answer;
  for (const Ceiling& ceiling : input.ceilings) answer.ceilings.push_back(ceiling.id);
  answer.policy = written_out(effective);
  answer.reductions = judgement.clamped.reductions();
  answer.reductions.insert(answer.reductions.end(), also.begin(), also.end());
  answer.text = clamp_text(answer);
  answer.json = clamp_json(answer, effective);
  return answer;
}

}  // namespace cordon
