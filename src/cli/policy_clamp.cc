#include "base/path.h"
#include "cli/json_parts.h"
#include "cli/policy_options.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "config/policy_document.h"
#include "host/resolve.h"
#include "run/contained_run.h"

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
  policy.net = effective.net;
  policy.net.sockets = rules_of(effective.sockets);
  policy.env = effective.env;
  policy.limits = effective.limits;
  policy.require.layers = effective.require;
  policy.agent = effective.agent;
  return policy;
}

Result<std::string> clamped_text(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(asked, asked_policy(arguments, caller));
  CORDON_TRY(judgement, judge_policy(asked.policy, asked.ceilings, caller));
  const std::vector<Reduction>& reductions = judgement.clamped.reductions();
  const Effective& effective = judgement.clamped.effective();
  if (arguments.has(FlagId::Json)) {
    Node node{NodeMap{}};
    node.set("schema", "cordon.clamp/1");
    std::vector<std::string> ceilings;
    for (const Ceiling& ceiling : asked.ceilings) ceilings.push_back(ceiling.id);
    node.set("ceilings", text_list(ceilings));
    node.set("policy", encode_effective(effective));
    node.set("reductions", reductions_list(reductions));
    return write_json(node, JsonStyle::Pretty) + "\n";
  }
  std::string text = write_toml(written_out(effective));
  if (!reductions.empty()) text += "\n";
  for (const Reduction& reduction : reductions) text += "# " + reduction_line(reduction) + "\n";
  return text;
}

}  // namespace

int verb_policy_clamp(const Arguments& arguments) {
  const auto text = clamped_text(arguments);
  if (!text) {
    say_error(text.error());
    return kAnswerError;
  }
  return say_answer(*text) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
