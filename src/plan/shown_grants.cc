#include "plan/shown_grants.h"

#include <algorithm>

#include "base/path.h"

namespace cordon {

ShownGrants shown_grants(const Effective& effective, const HostFacts& facts, Plan& plan) {
  ShownGrants shown;
  const auto select = [&](const std::vector<Grant>& from, const char* what,
                          std::vector<Grant>& to) {
    for (const Grant& grant : from) {
      const bool hidden = std::ranges::any_of(
          facts.masked, [&](const Masked& mask) { return contains(mask.path, grant.path); });
      if (!hidden) {
        to.push_back(grant);
      } else {
        plan.reductions.push_back(
            {what, grant.written, std::nullopt, Reduction::Because::Forbidden, grant.origin});
      }
    }
  };
  select(effective.read, "read", shown.read);
  select(effective.write, "write", shown.write);
  return shown;
}

}  // namespace cordon
