#include "faces/loop/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::loop {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kMarkdown = R"(# What is to be done

Words for people.

- [ ] parse-flags: Parse the flags
  Read them from the table.

      keep this indentation
  verify: make test
  attempts: 3
  timeout: 20m

More words: verify: this is none.

* [x] docs: Write the manual
  prompt: prompts/docs.md
  verify: test -s MANUAL
)";

constexpr const char* kJson = R"({"version": 1, "features": [
  {"id": "parse-flags", "title": "Parse the flags",
   "prompt": "Read them from the table.\n\n    keep this indentation",
   "verify": "make test", "attempts": 3, "timeout": "20m"},
  {"id": "docs", "title": "Write the manual", "prompt_file": "prompts/docs.md",
   "verify": "test -s MANUAL", "done": true}]})";

std::string refusal(std::string_view text, const std::string& name = "plan.md") {
  const auto read = read_plan(text, name);
  return read ? "accepted" : message(read.error());
}

TEST(PlanFile, MeansTheSameInBothForms) {
  const auto markdown = read_plan(kMarkdown, "plan.md");
  const auto json = read_plan(kJson, "plan.json");
  ASSERT_TRUE(markdown) << message(markdown.error());
  ASSERT_TRUE(json) << message(json.error());
  ASSERT_THAT(*markdown, SizeIs(2));
  EXPECT_EQ(*markdown, *json);
  const Feature& first = markdown->front();
  EXPECT_EQ(first.prompt, "Read them from the table.\n\n    keep this indentation");
  EXPECT_EQ(first.verify, "make test");
  EXPECT_EQ(first.attempts, 3U);
  EXPECT_EQ(first.wall_ms, 1'200'000U);
  EXPECT_FALSE(first.checked);
  EXPECT_TRUE(markdown->back().checked);
}

TEST(PlanFile, RefusesWhatDecidesNothing) {
  EXPECT_THAT(refusal("- [ ] a: Title\n"), HasSubstr("no verify command"));
  EXPECT_THAT(refusal("nothing here\n"), HasSubstr("no feature"));
  EXPECT_EQ(refusal("- [ ] a: Title\n  verify: true\n"), "accepted");
}

TEST(PlanFile, NamesThePlaceOfAMistake) {
  EXPECT_THAT(refusal("\n- [?] a: Title\n  verify: true\n"), HasSubstr("plan.md:2"));
  EXPECT_THAT(refusal("- [ ] title alone\n  verify: true\n"), HasSubstr("plan.md:1"));
  EXPECT_THAT(refusal("- [ ] a: T\n  verify: true\n  verify: false\n"), HasSubstr("plan.md:3"));
  EXPECT_THAT(refusal("- [ ] a: T\n  timeout: soon\n  verify: true\n"), HasSubstr("plan.md:2"));
  EXPECT_THAT(refusal("- [ ] a: T\n  attempts: -1\n  verify: true\n"), HasSubstr("plan.md:2"));
  EXPECT_THAT(refusal(R"({"version":1,"features":[{"id":"a","titel":"T"}]})", "p.json"),
              HasSubstr("titel"));
  EXPECT_THAT(refusal(R"({"version":2,"features":[]})", "p.json"), HasSubstr("p.json:1"));
  EXPECT_THAT(refusal("- [ ] a: T\n", "plan.txt"), HasSubstr("form of the plan"));
}

TEST(PlanFile, TakesNoIdThatCouldBeAnythingElse) {
  for (const char* id : {"../x", "a b", "", "-a", ".a", "a/b", "\x1b[2J"}) {
    EXPECT_NE(refusal("- [ ] " + std::string(id) + ": T\n  verify: true\n"), "accepted") << id;
  }
  const std::string twice = "- [ ] a: T\n  verify: true\n- [ ] a: U\n  verify: true\n";
  EXPECT_THAT(refusal(twice), HasSubstr("twice"));
  EXPECT_EQ(refusal("- [ ] a.b-c_1: T\n  verify: true\n"), "accepted");
}

}  // namespace
}  // namespace cordon::loop
