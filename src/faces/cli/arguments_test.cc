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

TEST(Arguments, StandBehindOperandsWhereNoCommandFollows) {
  const auto read = [](const char* verb, const std::vector<const char*>& words) {
    Arguments arguments;
    EXPECT_TRUE(parse_arguments(*find_verb(verb), words, arguments)) << verb;
    return arguments;
  };
  const Arguments list = read("changes list", {"last", "--json", ".vscode", "--", "--json", "-x"});
  EXPECT_TRUE(list.has(FlagId::Json));
  EXPECT_FALSE(list.ended_flags);
  EXPECT_THAT(list.operands, ElementsAre("last", ".vscode", "--", "--json", "-x"));
  const Arguments ended = read("changes list", {"--json", "--", "last", "--json"});
  EXPECT_TRUE(ended.ended_flags);
  EXPECT_THAT(ended.operands, ElementsAre("last", "--json"));
  const Arguments explain = read("policy explain", {"write", "x", "--policy", "strict", "--json"});
  EXPECT_EQ(explain.value(FlagId::Policy), "strict");
  EXPECT_THAT(explain.operands, ElementsAre("write", "x"));
  Arguments unknown;
  const std::vector<const char*> words{"last", "--jsn"};
  const auto refused = parse_arguments(*find_verb("changes list"), words, unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "unknown option --jsn");
}

// A verb with a command whose synopsis did not say so would take the command's options for its own.
TEST(Arguments, AreTheCommandsBehindEachVerbThatStartsOne) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) {
    Arguments arguments;
    const std::vector<const char*> words{"x", "--help"};
    if (is_group(verb) || !parse_arguments(verb, words, arguments)) continue;
    if (!arguments.has(FlagId::Help)) names.push_back(verb.name);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("run", "learn", "session exec", "export oci",
                                                   "export kube", "export slurm", "oci", "loop",
                                                   "srt", "apply"));
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
