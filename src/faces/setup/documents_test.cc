#include "faces/setup/installation.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "config/policy_document.h"
#include "policy/net_rules.h"

namespace cordon::setup {
namespace {

TEST(SetupDocuments, CeilingIsValidAndPermitsTheWorkspaceAlone) {
  const auto document = read_document(ceiling_text(AcceptMissing::Nothing, {}), "ceiling.toml");
  ASSERT_TRUE(document.has_value()) << message(document.error());
  const auto ceiling = decode_ceiling(*document, "ceiling.toml", "/");
  ASSERT_TRUE(ceiling.has_value()) << message(ceiling.error());
  ASSERT_EQ(ceiling->policy.fs.write.size(), 1U);
  EXPECT_EQ(ceiling->policy.fs.write.front().text, "@cwd");
  EXPECT_EQ(ceiling->policy.net.mode, NetMode::None);
  EXPECT_TRUE(ceiling->bounds_net);
  EXPECT_TRUE(ceiling->policy.require.accept_missing.empty());
  EXPECT_EQ(ceiling->audit.on_failure, AuditFailure::Deny);
}

TEST(SetupDocuments, PolicyIsValidAndUsesTheCurrentDirectory) {
  const auto document = read_document(policy_text("web"), "web.toml");
  ASSERT_TRUE(document.has_value()) << message(document.error());
  const auto policy = decode_policy(*document, "web.toml", "/", {});
  ASSERT_TRUE(policy.has_value()) << message(policy.error());
  for (const PathRule& rule : policy->fs.write) EXPECT_EQ(rule.text, "@cwd");
  EXPECT_FALSE(policy->fs.write.empty());
  EXPECT_EQ(policy->net.mode, NetMode::None);
}

// The commented lines are offers: taken up, they must be valid too.
TEST(SetupDocuments, EveryCommentedKeyIsValidOnceItIsUncommented) {
  std::string ceiling = ceiling_text(AcceptMissing::Nothing, {});
  std::string policy = policy_text("web");
  for (std::string* text : {&ceiling, &policy}) {
    for (const char* key : {"[audit]", "[env]", "[limits]", "on_failure", "wall", "memory",
                            "read =", "deny =", "scratch", "pass"}) {
      const std::string commented = std::string("# ") + key;
      const std::size_t at = text->find("\n" + commented);
      if (at != std::string::npos) text->erase(at + 1, 2);
    }
  }
  const auto first = read_document(ceiling, "ceiling.toml");
  ASSERT_TRUE(first.has_value()) << message(first.error());
  const auto most = decode_ceiling(*first, "ceiling.toml", "/");
  ASSERT_TRUE(most.has_value()) << message(most.error());
  EXPECT_TRUE(most->policy.limits.wall_ms && most->policy.limits.memory);
  const auto second = read_document(policy, "web.toml");
  ASSERT_TRUE(second.has_value()) << message(second.error());
  const auto asked = decode_policy(*second, "web.toml", "/", {});
  ASSERT_TRUE(asked.has_value()) << message(asked.error());
  EXPECT_TRUE(asked->limits.wall_ms && !asked->fs.deny.empty());
}

TEST(SetupDocuments, AHostWithoutNamespacesIsOfferedToAcceptThat) {
  const auto document = read_document(ceiling_text(AcceptMissing::Namespaces, {}), "ceiling.toml");
  ASSERT_TRUE(document.has_value()) << message(document.error());
  const auto ceiling = decode_ceiling(*document, "ceiling.toml", "/");
  ASSERT_TRUE(ceiling.has_value()) << message(ceiling.error());
  EXPECT_EQ(ceiling->policy.require.accept_missing, std::vector{run_without(Layer::Namespaces)});
  EXPECT_EQ(ceiling_text(AcceptMissing::Nothing, {}).find("accept_missing"), std::string::npos);
}

TEST(SetupDocuments, HostsOfTheAgentsThatWereFoundAndNoOthersArePermitted) {
  for (const AgentNeeds& agent : known_agents()) {
    const auto document =
        read_document(ceiling_text(AcceptMissing::Nothing, {&agent}), "ceiling.toml");
    ASSERT_TRUE(document.has_value()) << message(document.error());
    const auto ceiling = decode_ceiling(*document, "ceiling.toml", "/");
    ASSERT_TRUE(ceiling.has_value()) << message(ceiling.error());
    EXPECT_EQ(ceiling->policy.net.mode, NetMode::Allow);
    std::vector<std::string> permitted;
    for (const HostRule& rule : ceiling->policy.net.allow) permitted.push_back(to_string(rule));
    std::vector<std::string> needed;
    for (const AgentHost& host : agent.hosts) needed.emplace_back(host.rule);
    EXPECT_EQ(permitted, needed);
  }
}

TEST(SetupDocuments, VariablesSwitchNothingOn) {
  std::string set;
  const std::string text = variables_text({"/a/config", "/a/state"});
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with('#')) set.append(line).append(";");
  }
  EXPECT_EQ(set, "XDG_CONFIG_HOME=/a/config;XDG_STATE_HOME=/a/state;;");
}

}  // namespace
}  // namespace cordon::setup
