#include "egress/rules_source.h"

#include "policy/clamp_net.h"

namespace cordon {

RulesSource::RulesSource(NetRules rules, CeilingsNow ceilings_now)
    : at_start_(std::make_shared<const NetRules>(std::move(rules))),
      ceilings_now_(std::move(ceilings_now)) {}

std::shared_ptr<const NetRules> RulesSource::now() const {
  if (!ceilings_now_) return at_start_;
  const auto ceilings = ceilings_now_();
  if (!ceilings) return std::make_shared<const NetRules>();
  return std::make_shared<const NetRules>(narrow_net(*at_start_, *ceilings));
}

}  // namespace cordon
