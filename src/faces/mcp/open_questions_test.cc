#include "faces/mcp/open_questions.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

OpenQuestion question(std::string digest = "d") {
  return {"me", "tools/call x", std::move(digest), {"k"}, {}};
}

TEST(OpenQuestions, AreGoodOnce) {
  OpenQuestions open;
  const auto token = open.keep(question());
  ASSERT_TRUE(token.has_value());
  EXPECT_TRUE(open.take(*token, "me", "tools/call x", "d").has_value());
  EXPECT_FALSE(open.take(*token, "me", "tools/call x", "d").has_value());
}

TEST(OpenQuestions, BelongToOnePersonOneCallAndItsArguments) {
  OpenQuestions open;
  const auto tried = [&](const char* who, const char* subject, const char* digest) {
    return open.take(*open.keep(question()), who, subject, digest).has_value();
  };
  EXPECT_TRUE(tried("me", "tools/call x", "d"));
  EXPECT_FALSE(tried("you", "tools/call x", "d"));
  EXPECT_FALSE(tried("me", "tools/call y", "d"));
  EXPECT_FALSE(tried("me", "tools/call x", "e"));
}

TEST(OpenQuestions, AFailedTryUsesTheTokenUp) {
  OpenQuestions open;
  const auto token = open.keep(question());
  EXPECT_FALSE(open.take(*token, "me", "tools/call x", "e").has_value());
  EXPECT_FALSE(open.take(*token, "me", "tools/call x", "d").has_value());
}

TEST(OpenQuestions, AreBoundedInNumberAndSize) {
  OpenQuestions open;
  const auto first = open.keep(question());
  std::optional<std::string> last;
  for (int i = 0; i < 256; ++i) last = open.keep(question());
  EXPECT_FALSE(open.take(*first, "me", "tools/call x", "d").has_value());
  EXPECT_TRUE(open.take(*last, "me", "tools/call x", "d").has_value());
  OpenQuestion large = question();
  large.answers.emplace_back("k", std::string(70'000, 'x'));
  EXPECT_FALSE(open.keep(std::move(large)).has_value());
}

TEST(OpenQuestions, TheDigestDoesNotDependOnTheOrderOfMembers) {
  const auto digest = [](const char* text) { return digest_of(*read_json(text, "test")); };
  EXPECT_EQ(digest(R"({"a":1,"b":{"c":2,"d":[1,2]}})"), digest(R"({"b":{"d":[1,2],"c":2},"a":1})"));
  EXPECT_NE(digest(R"({"a":[1,2]})"), digest(R"({"a":[2,1]})"));
  EXPECT_NE(digest(R"({"a":"1"})"), digest(R"({"a":1})"));
}

}  // namespace
}  // namespace cordon::mcp
