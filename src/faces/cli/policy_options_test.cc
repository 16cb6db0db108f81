#include "faces/cli/policy_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/presets.h"

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMebi = 1ULL << 20U;

Result<Policy> applied(std::vector<const char*> words, std::string_view preset = "strict") {
  Policy policy = make_preset(preset, {1024 * kMebi});
  words.push_back("cmd");
  Arguments arguments;
  CORDON_CHECK(parse_arguments(*find_verb("run"), words, arguments));
  Caller caller;
  caller.cwd = "/work";
  caller.environment = {{"MY_A", "1"},     {"MY_B", "2"},        {"MY_TOKEN", "3"},
                        {"MYSELF", "4"},   {"PYTHONPATH", "/x"}, {"PWD", "/"},
                        {"PIPELINE", "5"}, {"LD_PRELOAD", "/x"}, {"LD_OF_MINE", "/x"}};
  CORDON_CHECK(apply_flags(arguments, caller, policy));
  return policy;
}

std::string refusal(std::vector<const char*> words, std::string_view preset = "strict") {
  const auto policy = applied(std::move(words), preset);
  if (policy) return "accepted";
  EXPECT_EQ(policy.error().kind, ErrorKind::Usage);
  return policy.error().what;
}

TEST(PolicyOptions, AppendPathsRelativeToTheCurrentDirectory) {
  const auto policy = applied({"--read", "a", "--write", "/b", "--deny", "*.pem"});
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->fs.read, ElementsAre(PathRule{"a", "/work", Origin::Option}));
  EXPECT_THAT(policy->fs.write, ElementsAre(PathRule{"/b", "/work", Origin::Option}));
  EXPECT_THAT(policy->fs.deny, ElementsAre(PathRule{"*.pem", "/work", Origin::Option}));
}

TEST(PolicyOptions, AppendToTheListsOfThePreset) {
  const auto policy = applied({"--write", "/b"}, "workspace");
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->fs.write,
              ElementsAre(PathRule{"@cwd", {}}, PathRule{"/b", "/work", Origin::Option}));
}

TEST(PolicyOptions, StageTakesItsValueAfterAnEqualsSignAlone) {
  EXPECT_EQ(applied({})->fs.mode, WriteMode::Live);
  const auto alone = applied({"--stage", "auto"});  // "auto" is the command
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->fs.mode, WriteMode::Staged);
  EXPECT_EQ(alone->fs.stage, StageEnd::Auto);
  EXPECT_FALSE(alone->options.stage);
  const auto review = applied({"--stage=review"});
  ASSERT_TRUE(review);
  EXPECT_EQ(review->fs.mode, WriteMode::Staged);
  EXPECT_EQ(review->fs.stage, StageEnd::Review);
  EXPECT_TRUE(review->options.stage);
  EXPECT_EQ(refusal({"--stage=live"}), "--stage=live: not a way to stage");
  EXPECT_EQ(refusal({"--stage="}), "option --stage= has no value");
}

TEST(PolicyOptions, SayThatTheyAskedAndNotThePreset) {
  EXPECT_EQ(applied({}, "workspace")->options, OptionRequests{});
  const auto policy =
      applied({"--timeout", "5m", "--memory", "64M", "--pids", "7", "--cpus", "1.5", "--scratch",
               "2M", "--output-limit", "3K", "--allow", "a.example", "--env", "A", "--env", "B=1"});
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->options.limits, ElementsAre("wall", "memory", "pids", "cpus", "output"));
  EXPECT_THAT(policy->options.env, ElementsAre("A", "B"));
  EXPECT_EQ(policy->options.allow, policy->net.allow);
  EXPECT_TRUE(policy->options.scratch);
  EXPECT_FALSE(policy->options.net);
  EXPECT_TRUE(applied({"--net", "open"})->options.net);
}

TEST(PolicyOptions, ReplaceScalars) {
  const auto policy = applied({"--timeout", "5m", "--memory", "64M", "--pids", "7", "--cpus", "1.5",
                               "--scratch", "2M", "--output-limit", "3K"});
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->limits.wall_ms, 300'000U);
  EXPECT_EQ(policy->limits.memory, 64 * kMebi);
  EXPECT_EQ(policy->limits.pids, 7U);
  EXPECT_EQ(policy->limits.cpus_milli, 1500U);
  EXPECT_EQ(policy->fs.scratch, 2 * kMebi);
  EXPECT_EQ(policy->limits.output, 3 * 1024U);
}

TEST(PolicyOptions, AllowAloneSetsTheMode) {
  const auto policy = applied({"--allow", "example.com:443"});
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->net.mode, NetMode::Allow);
  EXPECT_EQ(policy->net.allow.size(), 1U);
}

TEST(PolicyOptions, AllowBesideNetIsAContradiction) {
  EXPECT_THAT(refusal({"--net", "none", "--allow", "x.org"}), HasSubstr("contradicts"));
  EXPECT_THAT(refusal({"--net", "open", "--allow", "x.org"}), HasSubstr("contradicts"));
  EXPECT_EQ(refusal({"--net", "open"}), "accepted");
}

TEST(PolicyOptions, NetNoneForgetsTheHostsOfThePolicy) {
  Policy policy;
  policy.net.mode = NetMode::Allow;
  policy.net.allow.resize(3);
  Arguments arguments;
  const std::vector<const char*> words{"--net", "none"};
  ASSERT_TRUE(parse_arguments(*find_verb("run"), words, arguments));
  ASSERT_TRUE(apply_flags(arguments, Caller{}, policy));
  EXPECT_EQ(policy.net.mode, NetMode::None);
  EXPECT_TRUE(policy.net.allow.empty());
}

TEST(PolicyOptions, PassAndSetVariables) {
  const auto policy = applied({"--env", "A", "--env", "B=x=y", "--env", "C=", "--env", "A=1"});
  ASSERT_TRUE(policy);
  EXPECT_TRUE(policy->env.pass.empty());
  EXPECT_EQ(policy->env.set.at("A"), "1");
  EXPECT_EQ(policy->env.set.at("B"), "x=y");
  EXPECT_EQ(policy->env.set.at("C"), "");
}

TEST(PolicyOptions, PassVariablesByTheirBeginning) {
  const auto passed = [](const char* pattern) { return applied({"--env", pattern})->env.pass; };
  EXPECT_THAT(passed("MY_*"), ElementsAre("MY_A", "MY_B"));
  EXPECT_THAT(passed("MY*"), ElementsAre("MYSELF", "MY_A", "MY_B"));
  EXPECT_THAT(passed("P*"), ElementsAre("PIPELINE"));
  EXPECT_THAT(passed("LD_*"), testing::IsEmpty());
  EXPECT_THAT(passed("NONE*"), testing::IsEmpty());
  EXPECT_THAT(applied({"--env", "MY_*"})->options.env, ElementsAre("MY_A", "MY_B"));
  EXPECT_EQ(applied({"--env", "MY_A=*"})->env.set.at("MY_A"), "*");
  for (const char* value : {"*", "**", "A**", "*A", "1*"}) {
    EXPECT_NE(refusal({"--env", value}), "accepted") << value;
  }
}

TEST(PolicyOptions, RefuseLoaderVariablesAndNoNames) {
  for (const char* value : {"LD_PRELOAD=x", "LD_AUDIT", "GLIBC_TUNABLES=x", "=x", "", "1A=x"}) {
    EXPECT_NE(refusal({"--env", value}), "accepted") << value;
  }
  EXPECT_EQ(refusal({"--env", "PYTHONPATH=x"}), "accepted");
}

TEST(PolicyOptions, RequireOnlyAdds) {
  const auto before = make_preset("strict", {});
  const auto policy = applied({"--require", "cgroup,landlock"});
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->require.layers.size(), before.require.layers.size() + 1);
  EXPECT_EQ(policy->require.layers.back(), Layer::Cgroup);
  EXPECT_NE(refusal({"--require", "magic"}), "accepted");
  EXPECT_NE(refusal({"--require", ""}), "accepted");
}

TEST(PolicyOptions, RefuseBareNumbersZeroAndNonsense) {
  for (const char* value : {"30", "0s", "-1s", "", "1d"}) {
    EXPECT_NE(refusal({"--timeout", value}), "accepted") << value;
  }
  for (const char* value : {"512", "0M", "1.5G", "M"}) {
    EXPECT_NE(refusal({"--memory", value}), "accepted") << value;
  }
  for (const char* value : {"0", "-3", "1K", "", "99999999999999999999"}) {
    EXPECT_NE(refusal({"--pids", value}), "accepted") << value;
  }
  for (const char* value : {"0", "0.0", ".5", "1.", "1.2345", "1e3", "99999999999999999999"}) {
    EXPECT_NE(refusal({"--cpus", value}), "accepted") << value;
  }
}

TEST(PolicyOptions, RefuseAWritableRoot) {
  EXPECT_NE(refusal({"--write", "/"}), "accepted");
  EXPECT_NE(refusal({"--write", "//"}), "accepted");
  EXPECT_EQ(refusal({"--read", "/"}), "accepted");
}

TEST(PolicyOptions, NameTheFlagAndTheValueInARefusal) {
  EXPECT_EQ(refusal({"--timeout", "30"}), "--timeout 30: not a duration");
  EXPECT_THAT(refusal({"--read", "~other/x"}), HasSubstr("--read"));
}

}  // namespace
}  // namespace cordon
