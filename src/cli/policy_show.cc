#include "base/text.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "config/policy_document.h"
#include "host/resolve.h"
#include "policy/agents.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

// Why an agent's preset grants what it does.
std::string reasons(const Policy& policy) {
  const AgentNeeds* agent = find_agent(policy.agent.name);
  if (agent == nullptr) return {};
  std::string text = "\n";
  for (const AgentHost& host : agent->hosts) {
    text.append("# ").append(host.rule).append(": ").append(host.reason).append("\n");
  }
  for (const std::string_view name : agent->credentials) {
    text.append("# ").append(name).append(": may hold the agent's key; the first with a value\n");
  }
  return text;
}

Result<std::string> shown_policy(const Arguments& arguments) {
  if (arguments.operands.size() > 1) {
    return fail(usage_error("more than one policy was given",
                            "options stand before operands: cordon policy show [--json] POLICY"));
  }
  CORDON_TRY(caller, identify_caller());
  const std::string word(arguments.operands.empty() ? "workspace" : arguments.operands.front());
  CORDON_TRY(policy, load_policy(word, caller));
  if (arguments.has(FlagId::Json)) {
    return write_json(encode_policy(policy), JsonStyle::Pretty) + "\n";
  }
  return policy.toml() + reasons(policy);
}

}  // namespace

int verb_policy_show(const Arguments& arguments) {
  const auto text = shown_policy(arguments);
  if (!text) {
    say_error(text.error());
    return kAnswerError;
  }
  return say_answer(*text) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
