#include "policy/clamp_parts.h"

namespace cordon::detail {

void clamp_agent(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions) {
  const AgentRules& asked = request.policy.agent;
  result.agent = asked;
  if (!asked.share_login) return;
  const auto permits = [&](const ResolvedCeiling& ceiling) {
    const AgentRules& bound = ceiling.ceiling.policy.agent;
    return bound.share_login && (bound.name.empty() || bound.name == asked.name);
  };
  if (std::all_of(ceilings.begin(), ceilings.end(), permits)) return;
  result.agent.share_login.reset();
  reductions.push_back(
      {"share_login", asked.name, std::nullopt, Reduction::Because::OutsideCeiling});
}

}  // namespace cordon::detail
