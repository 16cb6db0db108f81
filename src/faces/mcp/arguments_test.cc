#include "faces/mcp/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

using testing::Optional;

Node json(std::string_view text) {
  auto read = read_json(text, "test");
  EXPECT_TRUE(read.has_value()) << text;
  return read ? *read : Node();
}

std::optional<std::string> fault(std::string_view schema, std::string_view value) {
  Node arguments = json(value);
  return check_arguments(json(schema), arguments);
}

constexpr std::string_view kClosed =
    R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"],
        "additionalProperties":false})";

TEST(Arguments, NameTheFieldAtFault) {
  EXPECT_EQ(fault(kClosed, R"({"a":"x"})"), std::nullopt);
  EXPECT_THAT(fault(kClosed, "{}"), Optional(std::string("a is required")));
  EXPECT_THAT(fault(kClosed, R"({"a":1})"), Optional(std::string("a must be a string")));
  EXPECT_THAT(fault(kClosed, R"({"a":"x","b":1})"),
              Optional(std::string("b is not a parameter of this tool")));
  EXPECT_THAT(fault(kClosed, "[]"), Optional(std::string("arguments must be an object")));
}

TEST(Arguments, KeepWhatAnOpenSchemaDoesNotName) {
  EXPECT_EQ(fault(R"({"type":"object"})", R"({"anything":[1]})"), std::nullopt);
}

TEST(Arguments, BoundsAreInclusive) {
  constexpr std::string_view kRange = R"({"type":"integer","minimum":1,"maximum":3})";
  EXPECT_EQ(fault(kRange, "1"), std::nullopt);
  EXPECT_EQ(fault(kRange, "3"), std::nullopt);
  EXPECT_THAT(fault(kRange, "0"), Optional(std::string("arguments must be at least 1")));
  EXPECT_THAT(fault(kRange, "4"), Optional(std::string("arguments must be at most 3")));
}

TEST(Arguments, LengthsCountCharactersNotBytes) {
  constexpr std::string_view kShort = R"({"type":"string","maxLength":2,"minLength":2})";
  EXPECT_EQ(fault(kShort, R"("é😀")"), std::nullopt);
  EXPECT_NE(fault(kShort, R"("é😀x")"), std::nullopt);
  EXPECT_NE(fault(kShort, R"("x")"), std::nullopt);
}

TEST(Arguments, AWholeNumberIsAnIntegerHoweverItIsWritten) {
  Node value = json("3.0");
  EXPECT_EQ(check_arguments(json(R"({"type":"integer"})"), value), std::nullopt);
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(value.value));
  EXPECT_NE(fault(R"({"type":"integer"})", "3.5"), std::nullopt);
  EXPECT_NE(fault(R"({"type":"integer"})", "1e300"), std::nullopt);
  EXPECT_NE(fault(R"({"type":"integer"})", "true"), std::nullopt);
}

TEST(Arguments, EnumerationsCompareByValueAndType) {
  constexpr std::string_view kOne = R"({"enum":["a",1,true]})";
  for (const char* good : {"\"a\"", "1", "1.0", "true"}) EXPECT_EQ(fault(kOne, good), std::nullopt);
  for (const char* bad : {"\"1\"", "0", "false", "null", "\"true\"", "[]"}) {
    EXPECT_NE(fault(kOne, bad), std::nullopt) << bad;
  }
}

TEST(Arguments, NamesFromThePeerAreShownWithoutControls) {
  const auto found = fault(kClosed, R"({"a":"x","b\u001b]0;\u0007":1})");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->find('\x1b'), std::string::npos);
  const auto cut = fault(kClosed, "{\"a\":\"x\",\"" + std::string(5000, 'k') + "\":1}");
  ASSERT_TRUE(cut.has_value());
  EXPECT_LT(cut->size(), 200U);
}

// A line for a shell is answered with the words that can be sent instead.
TEST(Arguments, CommandLineIsSaidAsWords) {
  constexpr const char* kTool =
      R"({"type":"object","required":["argv"],"additionalProperties":false,
          "properties":{"argv":{"type":"array","items":{"type":"string"}},"cwd":{"type":"string"}}})";
  EXPECT_THAT(
      fault(kTool, R"({"command":"ls \"a b\""})"),
      Optional(std::string(R"(argv is required: write {"argv":["sh","-c","ls \"a b\""]})")));
  EXPECT_THAT(
      fault(kTool, R"({"argv":"ls -l"})"),
      Optional(std::string(R"(argv must be an array: write {"argv":["sh","-c","ls -l"]})")));
  EXPECT_THAT(fault(kTool, R"({"cwd":"/x"})"), Optional(std::string("argv is required")));
  EXPECT_THAT(fault(kTool, R"({"command":["ls"]})"), Optional(std::string("argv is required")));
}

}  // namespace
}  // namespace cordon::mcp
