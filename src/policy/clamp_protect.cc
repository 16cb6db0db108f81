#include "policy/clamp_parts.h"

namespace cordon::detail {

void clamp_protect(const Resolved& request, Ceilings ceilings, Effective& result) {
  ProtectRules& protect = result.protect;
  protect.add = request.policy.protect.add;
  for (const ResolvedCeiling& ceiling : ceilings) {
    const ProtectRules& rules = ceiling.ceiling.policy.protect;
    protect.add.insert(protect.add.end(), rules.add.begin(), rules.add.end());
  }
  sort_unique(protect.add);
  // A request releases nothing, whatever it holds: only operators say what the host may run.
  if (ceilings.empty()) return;
  protect.release = ceilings.front().ceiling.policy.protect.release;
  sort_unique(protect.release);
  std::erase_if(protect.release, [&](const std::string& name) {
    const auto lacks = [&](const ResolvedCeiling& ceiling) {
      const auto& released = ceiling.ceiling.policy.protect.release;
      return std::find(released.begin(), released.end(), name) == released.end();
    };
    return std::any_of(ceilings.begin(), ceilings.end(), lacks) ||
           std::binary_search(protect.add.begin(), protect.add.end(), name);
  });
}

}  // namespace cordon::detail
