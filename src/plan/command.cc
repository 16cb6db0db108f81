#include "plan/command.h"

#include "base/path.h"
#include "base/text.h"
#include "policy/agents.h"
#include "policy/environment.h"

namespace cordon {

void plan_command(const Effective& effective, const Caller& caller, Plan& plan) {
  plan.environment = build_environment(effective, caller, plan.cwd);
  plan.credential = credential_of(effective, caller);
  for (const std::string& variable : effective.env.pass) {
    const auto outside = caller.environment.find(variable);
    if (outside == caller.environment.end() || outside->second.empty()) continue;
    if (!is_withheld(variable, effective.agent, plan.credential)) continue;
    plan.reductions.push_back({"env", variable, std::nullopt, Reduction::Because::Forbidden});
  }
  const std::string& name = plan.argv.front();
  if (name.find('/') != std::string::npos) {
    plan.candidates = {name};
    return;
  }
  constexpr std::string_view kPathVariable = "PATH=";
  for (const std::string& variable : plan.environment) {
    if (!variable.starts_with(kPathVariable)) continue;
    for (const std::string_view directory :
         split(std::string_view(variable).substr(kPathVariable.size()), ':')) {
      if (directory.starts_with('/')) plan.candidates.push_back(join(directory, name));
    }
  }
}

}  // namespace cordon
