#include "egress/rules.h"

#include "policy/clamp_net.h"

namespace cordon {

std::shared_ptr<const NetRules> RulesSource::now() const {
  if (!ceilings_now_) return own_->now();
  const auto ceilings = ceilings_now_();
  if (!ceilings) return std::make_shared<const NetRules>();
  return std::make_shared<const NetRules>(narrow_net(*own_->now(), *ceilings));
}

}  // namespace cordon
