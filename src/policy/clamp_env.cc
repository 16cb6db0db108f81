#include "policy/clamp_parts.h"
#include "policy/environment.h"

namespace cordon::detail {
namespace {

using Because = Reduction::Because;

bool permits_variable(const Ceiling& ceiling, const std::string& name) {
  if (!ceiling.bounds_env) return true;
  const EnvRules& env = ceiling.policy.env;
  return env.set.contains(name) ||
         std::find(env.pass.begin(), env.pass.end(), name) != env.pass.end();
}

std::optional<Because> refused(const std::string& name, Ceilings ceilings) {
  if (!is_valid_variable_name(name)) return Because::Malformed;
  if (is_loader_variable(name)) return Because::Forbidden;
  for (const ResolvedCeiling& ceiling : ceilings) {
    if (!permits_variable(ceiling.ceiling, name)) return Because::OutsideCeiling;
  }
  return std::nullopt;
}

Origin variable_origin(const Resolved& request, const std::string& name) {
  const auto& names = request.policy.options.env;
  return std::find(names.begin(), names.end(), name) != names.end() ? Origin::Option
                                                                    : Origin::Document;
}

}  // namespace

void clamp_env(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions) {
  for (const std::string& name : request.policy.env.pass) {
    if (const auto because = refused(name, ceilings)) {
      reductions.push_back({"env", name, std::nullopt, *because, variable_origin(request, name)});
    } else {
      result.env.pass.push_back(name);
    }
  }
  sort_unique(result.env.pass);
  for (const auto& [name, value] : request.policy.env.set) {
    auto because = refused(name, ceilings);
    // A NUL would cut the value short without a word.
    if (!because && value.find('\0') != std::string::npos) because = Because::Malformed;
    if (because) {
      reductions.push_back({"env", name, std::nullopt, *because, variable_origin(request, name)});
    } else {
      result.env.set.emplace(name, value);
    }
  }
}

}  // namespace cordon::detail
