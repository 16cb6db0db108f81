#include "base/path.h"
#include "config/policy_document.h"
#include "run/answers.h"
#include "run/json_parts.h"

namespace cordon {
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
