#include "policy/clamp.h"

#include "policy/clamp_parts.h"
#include "policy/refusal.h"

namespace cordon {

Result<Clamped> clamp(const Resolved& request, std::span<const ResolvedCeiling> ceilings) {
  Clamped clamped;
  Effective& result = clamped.effective_;
  std::vector<Reduction>& reductions = clamped.reductions_;
  result.name = request.policy.name;
  reductions = request.reductions;
  clamped.named_ = request.named;
  for (const ResolvedCeiling& ceiling : ceilings) {
    clamped.named_.insert(clamped.named_.end(), ceiling.named.begin(), ceiling.named.end());
  }
  detail::clamp_protect(request, ceilings, result);
  detail::clamp_paths(request, ceilings, result, reductions);
  detail::clamp_view(request, ceilings, result, reductions);
  detail::clamp_net(request, ceilings, result, reductions);
  detail::clamp_sockets(request, ceilings, result, reductions);
  detail::clamp_env(request, ceilings, result, reductions);
  detail::clamp_limits(request, ceilings, result, reductions);
  detail::clamp_layers(request, ceilings, result);
  detail::clamp_agent(request, ceilings, result, reductions);
  if (auto refused = refusal_of(request, ceilings, result, reductions)) {
    return fail(*std::move(refused));
  }
  return clamped;
}

}  // namespace cordon
