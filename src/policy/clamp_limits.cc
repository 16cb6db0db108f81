#include "policy/clamp_parts.h"
#include "policy/limit_fields.h"

namespace cordon::detail {

void clamp_limits(const Resolved& request, Ceilings ceilings, Effective& result,
                  Reductions& reductions) {
  for (const LimitField& field : limit_fields()) {
    const auto& asked = request.policy.limits.*field.member;
    auto& value = result.limits.*field.member;
    value = asked;
    for (const ResolvedCeiling& ceiling : ceilings) {
      const auto& bound = ceiling.ceiling.policy.limits.*field.member;
      if (bound) value = value ? std::min(*value, *bound) : *bound;
    }
    if (!asked || value == asked) continue;
    const auto& keys = request.policy.options.limits;
    const bool option = std::find(keys.begin(), keys.end(), field.key) != keys.end();
    reductions.push_back({"limits." + std::string(field.key), format_limit(field.unit, *asked),
                          format_limit(field.unit, *value), Reduction::Because::Narrowed,
                          option ? Origin::Option : Origin::Document});
  }
}

}  // namespace cordon::detail
