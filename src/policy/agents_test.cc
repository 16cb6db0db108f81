#include "policy/agents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/environment.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"
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

Caller with_variables(std::map<std::string, std::string> variables) {
  Caller caller;
  caller.environment = std::move(variables);
  return caller;
}

TEST(AgentKey, StandsOutsideForEveryAgentWhoseModelTakesIt) {
  for (const AgentNeeds& agent : known_agents()) {
    for (const AgentKey& key : agent.keys) {
      const std::string variable(key.variable);
      const Policy preset = make_preset("agent:" + std::string(agent.name), {});
      const Policy policy =
          with_key_outside(preset, {}, with_variables({{variable, "a"}}), KeptLogin::None);
      ASSERT_EQ(policy.secrets.size(), 1U) << variable;
      const SecretRule& secret = policy.secrets.front();
      EXPECT_EQ(secret.variable, variable);
      EXPECT_EQ(secret.from, "env:" + variable);
      EXPECT_EQ(secret.header, key.header);
      ASSERT_EQ(policy.net.http.size(), 1U);
      EXPECT_EQ(policy.net.http.front().host, secret.host);
      EXPECT_EQ(policy.net.http.front().secret, secret.name);
      EXPECT_TRUE(known_base_variable(secret.host.name)) << "nobody would tell it the way";
      EXPECT_TRUE(std::ranges::any_of(policy.net.allow, [&](const HostRule& host) {
        return covers(host, secret.host);
      })) << "the preset does not lead there";
      Effective effective;
      effective.net = policy.net;
      effective.env = policy.env;
      effective.agent = policy.agent;
      effective.secrets = policy.secrets;
      const Caller caller = with_variables({{variable, "a"}});
      EXPECT_EQ(credential_of(effective, caller),
                (Credential{std::string(agent.name), Credential::Kind::Outside, variable}));
      const auto environment = build_environment(effective, caller, "/");
      EXPECT_FALSE(holds(environment, variable + "=a"));
      EXPECT_TRUE(holds(environment, variable + "=" + placeholder_of(secret)));
      // A ceiling that takes the secret takes the key.
      effective.secrets.clear();
      effective.net.http.front().secret.clear();
      EXPECT_EQ(credential_of(effective, caller), std::nullopt);
      EXPECT_FALSE(holds(build_environment(effective, caller, "/"), variable + "=a"));
    }
  }
}

TEST(AgentKey, OfSeveralTheFirstWithAValueIsUsed) {
  const Policy preset = make_preset("agent:claude", {});
  const auto secret_with = [&](std::map<std::string, std::string> variables) {
    return with_key_outside(preset, {}, with_variables(std::move(variables)), KeptLogin::None)
        .secrets.at(0);
  };
  EXPECT_EQ(secret_with({{"ANTHROPIC_API_KEY", "a"}, {"CLAUDE_CODE_OAUTH_TOKEN", "b"}}).variable,
            "ANTHROPIC_API_KEY");
  const SecretRule token =
      secret_with({{"ANTHROPIC_API_KEY", ""}, {"CLAUDE_CODE_OAUTH_TOKEN", "b"}});
  EXPECT_EQ(token.variable, "CLAUDE_CODE_OAUTH_TOKEN");
  EXPECT_EQ(token.kind, SecretRule::Kind::Bearer);
}

TEST(AgentKey, ChangesNothingWhereItCannotStandOutside) {
  const Policy preset = make_preset("agent:claude", {});
  const Caller caller = with_variables({{"ANTHROPIC_API_KEY", "a"}});
  const auto unchanged = [](const Policy& policy, const Caller& who,
                            std::span<const Ceiling> ceilings = {}) {
    return with_key_outside(policy, ceilings, who, KeptLogin::None) == policy;
  };
  EXPECT_FALSE(unchanged(preset, caller));  // control
  EXPECT_TRUE(unchanged(preset, Caller()));
  EXPECT_TRUE(
      unchanged(make_preset("agent:copilot", {}), with_variables({{"COPILOT_GITHUB_TOKEN", "a"}})));
  EXPECT_TRUE(unchanged(make_preset("agent", {}), caller));
  Policy policy = preset;
  policy.net = {};
  EXPECT_TRUE(unchanged(policy, caller));
  policy.net.mode = share_the_hosts_network();
  EXPECT_TRUE(unchanged(policy, caller));
  policy = preset;
  policy.net.allow = {parse_host_rule("example.com:443").value()};
  EXPECT_TRUE(unchanged(policy, caller));
  policy = preset;
  policy.net.deny = {parse_host_rule("*.anthropic.com").value()};
  EXPECT_TRUE(unchanged(policy, caller));
  policy = preset;
  policy.agent.share_login = hand_over_the_agents_login();
  EXPECT_TRUE(unchanged(policy, caller));
  policy = preset;
  policy.env.set["ANTHROPIC_API_KEY"] = "of the policy";
  EXPECT_TRUE(unchanged(policy, caller));
  policy = preset;
  policy.env.set["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:8080";
  EXPECT_TRUE(unchanged(policy, caller));
  policy = preset;
  policy.env.pass.emplace_back("ANTHROPIC_BASE_URL");
  EXPECT_FALSE(unchanged(policy, caller));
  EXPECT_TRUE(unchanged(policy, with_variables({{"ANTHROPIC_API_KEY", "a"},
                                                {"ANTHROPIC_BASE_URL", "http://127.0.0.1:1"}})));
  policy = preset;
  policy.net.http.emplace_back().host = parse_http_host("api.anthropic.com").value();
  policy.net.http.front().secret = "own";
  EXPECT_TRUE(unchanged(policy, caller));
  policy.net.http.front().secret.clear();
  const Policy kept = with_key_outside(policy, {}, caller, KeptLogin::None);
  EXPECT_EQ(kept.net.http.front().secret, "claude-key");
  EXPECT_TRUE(kept.net.http.front().allow.empty()) << "who wrote a rule said what may be asked";
  EXPECT_EQ(with_key_outside(kept, {}, caller, KeptLogin::None), kept);
  policy.net.http.front().secret = "claude-key";
  EXPECT_EQ(with_key_outside(policy, {}, caller, KeptLogin::None), kept);
  // Who defines the secret says where it comes from.
  Ceiling defining;
  defining.policy.secrets = {with_key_outside(preset, {}, caller, KeptLogin::None).secrets.front()};
  defining.policy.secrets.front().from = "file:/etc/key";
  EXPECT_TRUE(with_key_outside(preset, {&defining, 1}, caller, KeptLogin::None).secrets.empty());
  EXPECT_EQ(
      with_key_outside(preset, {&defining, 1}, caller, KeptLogin::None).net.http.front().secret,
      "claude-key");
  Ceiling ceiling;
  ceiling.bounds_env = true;
  EXPECT_TRUE(unchanged(preset, caller, {&ceiling, 1}));
  ceiling.policy.env.pass = {"ANTHROPIC_API_KEY"};
  EXPECT_FALSE(unchanged(preset, caller, {&ceiling, 1}));
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

TEST(AgentLoginOutside, IsAddedOutsideWhereNoVariableHoldsAKey) {
  const Policy preset = make_preset("agent:claude", {});
  const Caller none;
  EXPECT_EQ(with_key_outside(preset, {}, none, KeptLogin::None), preset);
  const Policy policy = with_key_outside(preset, {}, none, KeptLogin::Usable);
  ASSERT_EQ(policy.secrets.size(), 1U);
  EXPECT_EQ(policy.secrets[0].from, "file:~/.claude/.credentials.json#/claudeAiOauth/accessToken");
  EXPECT_EQ(policy.secrets[0].kind, SecretRule::Kind::Bearer);
  EXPECT_EQ(policy.secrets[0].variable, "CLAUDE_CODE_OAUTH_TOKEN");
  EXPECT_EQ(policy.net.http.at(0).secret, "claude-key");
  Effective effective;
  effective.env = policy.env;
  effective.agent = policy.agent;
  effective.net = policy.net;
  effective.secrets = policy.secrets;
  EXPECT_EQ(credential_of(effective, none),
            (Credential{"claude", Credential::Kind::Outside, "~/.claude/.credentials.json"}));
  EXPECT_TRUE(holds(build_environment(effective, none, "/"),
                    "CLAUDE_CODE_OAUTH_TOKEN=cordon-placeholder-claude-key"));
  // A key in a variable was meant.
  const Caller keyed = with_variables({{"ANTHROPIC_API_KEY", "a"}});
  EXPECT_EQ(with_key_outside(preset, {}, keyed, KeptLogin::Usable).secrets.at(0).from,
            "env:ANTHROPIC_API_KEY");
}

TEST(AgentLoginOutside, StaysOutsideWithoutAPlaceWhereItIsSharedOrNotPermitted) {
  const Caller none;
  Policy sharing = make_preset("agent:claude", {});
  sharing.agent.share_login = hand_over_the_agents_login();
  EXPECT_EQ(with_key_outside(sharing, {}, none, KeptLogin::Usable), sharing);
  Policy without = make_preset("agent:claude", {});
  std::erase(without.env.pass, "CLAUDE_CODE_OAUTH_TOKEN");
  EXPECT_EQ(with_key_outside(without, {}, none, KeptLogin::Usable), without);
  Ceiling ceiling;
  ceiling.bounds_env = true;
  ceiling.policy.env.pass = {"TERM"};
  const Policy preset = make_preset("agent:claude", {});
  EXPECT_EQ(with_key_outside(preset, {&ceiling, 1}, none, KeptLogin::Usable), preset);
}

TEST(AgentLoginOutside, IsToldOnceItsHostRefusedIt) {
  const Credential login{"claude", Credential::Kind::Outside, "~/.claude/.credentials.json"};
  const SentRequests refused{"", "POST", "api.anthropic.com:443", 401, 0, 0, 1, ""};
  SentRequests other = refused;
  other.host = "other.example:443";
  SentRequests fine = refused;
  fine.status = 200;
  EXPECT_EQ(
      rejected_login(login, std::vector{fine, refused}),
      "api.anthropic.com refused the login ~/.claude/.credentials.json: it has expired or was "
      "ended; run claude outside once, which renews it, and go on");
  EXPECT_EQ(rejected_login(login, std::vector{fine, other}), std::nullopt);
  const Credential variable{"claude", Credential::Kind::Outside, "ANTHROPIC_API_KEY"};
  EXPECT_EQ(rejected_login(variable, std::vector{refused}), std::nullopt);
}

}  // namespace
}  // namespace cordon
