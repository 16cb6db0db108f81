#include "faces/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Outcome {
  std::vector<const char*> words;
  Arguments arguments;
  Result<void> result;
};

Outcome parse(std::vector<const char*> words) {
  Outcome outcome{std::move(words), {}, {}};
  outcome.result = parse_arguments(*find_verb("run"), outcome.words, outcome.arguments);
  return outcome;
}

TEST(Arguments, StopAtTheFirstOperand) {
  const auto got = parse({"--json", "echo", "--tty", "--", "--json"});
  ASSERT_TRUE(got.result);
  EXPECT_TRUE(got.arguments.has(FlagId::Json));
  EXPECT_FALSE(got.arguments.has(FlagId::Tty));
  EXPECT_THAT(got.arguments.operands, ElementsAre("echo", "--tty", "--", "--json"));
}

TEST(Arguments, EndAtTheDoubleDashEvenBeforeDashes) {
  const auto got = parse({"--", "--policy", "-h", "--"});
  ASSERT_TRUE(got.result);
  EXPECT_THAT(got.arguments.flags, IsEmpty());
  EXPECT_THAT(got.arguments.operands, ElementsAre("--policy", "-h", "--"));
}

TEST(Arguments, TakeAValueInBothSpellings) {
  const auto got = parse({"--policy", "strict", "--timeout=30s", "--env=A=B", "x"});
  ASSERT_TRUE(got.result);
  EXPECT_EQ(got.arguments.value(FlagId::Policy), "strict");
  EXPECT_EQ(got.arguments.value(FlagId::Timeout), "30s");
  EXPECT_EQ(got.arguments.value(FlagId::Env), "A=B");
}

TEST(Arguments, TakeAValueThatLooksLikeAFlagAsAValue) {
  const auto got = parse({"--read", "--json", "--", "x"});
  ASSERT_TRUE(got.result);
  EXPECT_EQ(got.arguments.value(FlagId::Read), "--json");
  EXPECT_FALSE(got.arguments.has(FlagId::Json));
}

TEST(Arguments, KeepEveryValueInOrderAndAnswerWithTheLast) {
  const auto got = parse({"--read", "/a", "--read", "/b", "x"});
  ASSERT_TRUE(got.result);
  EXPECT_THAT(got.arguments.values(FlagId::Read), ElementsAre("/a", "/b"));
  EXPECT_EQ(got.arguments.value(FlagId::Read), "/b");
}

TEST(Arguments, NameTheNearestFlag) {
  const auto got = parse({"--polcy", "x"});
  ASSERT_FALSE(got.result);
  EXPECT_EQ(got.result.error().kind, ErrorKind::Usage);
  EXPECT_EQ(got.result.error().what, "unknown option --polcy");
  EXPECT_EQ(got.result.error().hint, "did you mean --policy?");
}

TEST(Arguments, RefuseAMissingValueAndAnUnwantedOne) {
  EXPECT_FALSE(parse({"--read"}).result);
  EXPECT_FALSE(parse({"--json=yes", "x"}).result);
  EXPECT_TRUE(parse({"--json", "x"}).result);
}

TEST(Arguments, RefuseBundlesAndAbbreviations) {
  EXPECT_FALSE(parse({"-hh"}).result);
  EXPECT_FALSE(parse({"--js", "x"}).result);
  EXPECT_FALSE(parse({"-j", "x"}).result);
}

TEST(Arguments, RememberWhatWasReadBeforeAnError) {
  const auto got = parse({"--json", "--nonsense", "x"});
  EXPECT_FALSE(got.result);
  EXPECT_TRUE(got.arguments.has(FlagId::Json));
}

TEST(Arguments, PassEmptyWordsOnAsOperands) {
  const auto got = parse({"", "--json", ""});
  ASSERT_TRUE(got.result);
  EXPECT_FALSE(got.arguments.has(FlagId::Json));
  EXPECT_THAT(got.arguments.operands, ElementsAre("", "--json", ""));
}

TEST(Arguments, TakeALoneDashAsAnOperand) {
  const auto got = parse({"-", "--json"});
  ASSERT_TRUE(got.result);
  EXPECT_THAT(got.arguments.operands, ElementsAre("-", "--json"));
}

TEST(Arguments, PassTwoMebibytesOnWithoutReadingThem) {
  const std::string word(2048, '-');
  std::vector<const char*> words{"--", "cmd"};
  for (int i = 0; i < 1024; ++i) words.push_back(word.c_str());
  const auto got = parse(words);
  ASSERT_TRUE(got.result);
  EXPECT_THAT(got.arguments.flags, IsEmpty());
  EXPECT_EQ(got.arguments.operands.size(), 1025U);
}

TEST(Arguments, AreReadTheSameUpToTheFirstOperandWhateverFollows) {
  const std::vector<const char*> hostile{
      "--policy=agent", "--net", "open", "--write", "/", "--", "-h", "--help=x", "\x01\xff"};
  const auto alone = parse({"--timeout", "5s", "cmd"});
  std::vector<const char*> words{"--timeout", "5s", "cmd"};
  words.insert(words.end(), hostile.begin(), hostile.end());
  const auto got = parse(words);
  ASSERT_TRUE(alone.result);
  ASSERT_TRUE(got.result);
  ASSERT_EQ(got.arguments.flags.size(), alone.arguments.flags.size());
  EXPECT_EQ(got.arguments.flags[0].id, alone.arguments.flags[0].id);
  EXPECT_EQ(got.arguments.operands.size(), 1 + hostile.size());
}

}  // namespace
}  // namespace cordon
