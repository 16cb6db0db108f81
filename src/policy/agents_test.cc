#include "policy/agents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/environment.h"
#include "policy/presets.h"

namespace cordon {
namespace {

Effective run_for(const char* preset) {
  Policy policy = make_preset(preset, {});
  Effective effective;
  effective.env = std::move(policy.env);
  effective.agent = std::move(policy.agent);
  return effective;
}

bool holds(const std::vector<std::string>& environment, const std::string& variable) {
  return std::ranges::find(environment, variable) != environment.end();
}

TEST(AgentCredential, IsTheFirstVariableThatHasAValueAndNoOtherIsPassed) {
  const Effective effective = run_for("agent:claude");
  Caller caller;
  EXPECT_EQ(credential_of(effective, caller), std::nullopt);
  caller.environment = {{"ANTHROPIC_API_KEY", ""}, {"CLAUDE_CODE_OAUTH_TOKEN", "b"}};
  EXPECT_EQ(credential_of(effective, caller)->label, "CLAUDE_CODE_OAUTH_TOKEN");
  caller.environment["ANTHROPIC_API_KEY"] = "a";
  EXPECT_EQ(credential_of(effective, caller),
            (Credential{"claude", Credential::Kind::Variable, "ANTHROPIC_API_KEY"}));
  const auto environment = build_environment(effective, caller, "/");
  EXPECT_TRUE(holds(environment, "ANTHROPIC_API_KEY=a"));
  EXPECT_FALSE(holds(environment, "CLAUDE_CODE_OAUTH_TOKEN=b"));
}

TEST(AgentCredential, IsNotOneThatTheCeilingTookAway) {
  Effective effective = run_for("agent:claude");
  std::erase(effective.env.pass, "ANTHROPIC_API_KEY");
  Caller caller;
  caller.environment = {{"ANTHROPIC_API_KEY", "a"}};
  EXPECT_EQ(credential_of(effective, caller), std::nullopt);
  EXPECT_FALSE(holds(build_environment(effective, caller, "/"), "ANTHROPIC_API_KEY=a"));
}

TEST(AgentCredential, IsTheLoginAloneIfThatIsShared) {
  Effective effective = run_for("agent:codex");
  effective.agent.share_login = hand_over_the_agents_login();
  Caller caller;
  caller.environment = {{"OPENAI_API_KEY", "a"}};
  EXPECT_EQ(credential_of(effective, caller),
            (Credential{"codex", Credential::Kind::Login, "~/.codex/auth.json"}));
  EXPECT_FALSE(holds(build_environment(effective, caller, "/"), "OPENAI_API_KEY=a"));
}

TEST(AgentCredential, MeansNothingToARunForNoAgent) {
  Effective effective;
  effective.env.pass = {"OPENAI_API_KEY"};
  Caller caller;
  caller.environment = {{"OPENAI_API_KEY", "a"}};
  EXPECT_EQ(credential_of(effective, caller), std::nullopt);
  EXPECT_TRUE(holds(build_environment(effective, caller, "/"), "OPENAI_API_KEY=a"));
}

TEST(AgentNeeds, AreTakenAwayAgain) {
  for (const AgentNeeds& agent : known_agents()) {
    Policy policy = make_preset("agent", {});
    const Policy before = policy;
    add_needs(agent, policy);
    EXPECT_EQ(policy.agent.name, agent.name);
    EXPECT_FALSE(policy.agent.share_login);
    remove_needs(agent, policy);
    EXPECT_EQ(policy.env, before.env);
    EXPECT_EQ(policy.agent, before.agent);
  }
}

}  // namespace
}  // namespace cordon
