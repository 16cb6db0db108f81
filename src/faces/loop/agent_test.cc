#include "faces/loop/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/agents.h"
#include "policy/presets.h"

namespace cordon::loop {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(Agent, KnownOnesWorkAloneAndTellAStream) {
  const auto claude = contained_agent({"claude", "--model", "m"});
  ASSERT_TRUE(claude);
  EXPECT_EQ(claude->preset, "agent:claude");
  EXPECT_THAT(claude->argv,
              ElementsAre("claude", "--print", "--verbose", "--output-format", "stream-json",
                          "--dangerously-skip-permissions", "--model", "m"));
  const auto codex = contained_agent({"codex", "-m", "m"});
  ASSERT_TRUE(codex);
  EXPECT_EQ(codex->argv.back(), "-");
  EXPECT_THAT(codex->argv, Contains("-m"));
  const auto gemini = contained_agent({"gemini"});
  ASSERT_TRUE(gemini);
  EXPECT_THAT(gemini->argv, Contains("--skip-trust"));
  const auto copilot = contained_agent({"copilot"});
  ASSERT_TRUE(copilot);
  EXPECT_EQ(copilot->form, StreamForm::Copilot);
}

TEST(Agent, SomeSayWhetherTheyAreSignedIn) {
  const auto claude = contained_agent({"claude"});
  ASSERT_TRUE(claude && claude->login);
  EXPECT_THAT(claude->login->argv, ElementsAre("claude", "auth", "status"));
  EXPECT_TRUE(claude->login->decides);
  // These words may name settings with a key.
  EXPECT_FALSE(contained_agent({"claude", "--settings", "s"})->login->decides);
  const auto codex = contained_agent({"codex"});
  ASSERT_TRUE(codex && codex->login);
  EXPECT_FALSE(codex->login->decides);
  EXPECT_FALSE(contained_agent({"gemini"})->login);
  EXPECT_FALSE(contained_agent({"/opt/x/claude"})->login);

  EXPECT_TRUE(says_signed_out(StreamForm::Claude, "{\n  \"loggedIn\": false\n}\n"));
  EXPECT_TRUE(says_signed_out(StreamForm::Claude, "x\n{\"loggedIn\": false}\nnote\n"));
  EXPECT_TRUE(says_signed_out(StreamForm::Codex, "WARNING: x\nNot logged in\n"));
  EXPECT_TRUE(says_signed_out(StreamForm::Codex, "Error checking login status: expected value\n"));
  for (const char* answer :
       {"", "}{", "{", "Not logged in", "{\"loggedIn\": true}", "{\"loggedIn\": 0}", "[]"}) {
    EXPECT_FALSE(says_signed_out(StreamForm::Claude, answer)) << answer;
  }
  for (const char* answer : {"", "Logged in using ChatGPT", "{\"loggedIn\": false}"}) {
    EXPECT_FALSE(says_signed_out(StreamForm::Codex, answer)) << answer;
  }
}

TEST(Agent, AnyOtherCommandIsTakenAsItIs) {
  const auto own = contained_agent({"/opt/x/my-agent", "go"});
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "my-agent");
  EXPECT_EQ(own->preset, "agent");
  EXPECT_THAT(own->argv, ElementsAre("/opt/x/my-agent", "go"));
  EXPECT_FALSE(contained_agent({}));
  EXPECT_FALSE(contained_agent({""}));
}

TEST(Agent, EveryKnownOneHasAPresetWithItsReasons) {
  for (const AgentNeeds& needs : known_agents()) {
    const auto command = contained_agent({std::string(needs.name)});
    ASSERT_TRUE(command);
    ASSERT_TRUE(is_preset(command->preset)) << needs.name;
    const Policy policy = make_preset(command->preset, {});
    EXPECT_EQ(policy.net.mode, NetMode::Allow);
    EXPECT_EQ(policy.net.allow.size(), needs.hosts.size());
    for (const AgentHost& host : needs.hosts) EXPECT_FALSE(host.reason.empty()) << host.rule;
    for (const std::string_view name : needs.credentials) {
      EXPECT_THAT(policy.env.pass, Contains(std::string(name)));
    }
    EXPECT_EQ(policy.fs.home, HomeMode::Persistent);
  }
  EXPECT_FALSE(is_preset("agent:"));
  EXPECT_FALSE(is_preset("agent:nobody"));
}

}  // namespace
}  // namespace cordon::loop
