#include <gtest/gtest.h>

#include "config/node.h"

namespace cordon {
namespace {

constexpr MessageBounds kBounds{64, 8};
using Kind = MessageFault::Kind;

Kind fault(std::string_view text, MessageBounds bounds = kBounds) {
  const auto read = read_json_message(text, bounds);
  EXPECT_FALSE(read.has_value()) << text;
  return read ? Kind::Syntax : read.error().kind;
}

TEST(JsonMessage, IsReadWithinItsBounds) {
  const auto read = read_json_message(R"({"a":[1,2,3],"b":"c"})", kBounds);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(write_json(*read, JsonStyle::Compact), R"({"a":[1,2,3],"b":"c"})");
}

TEST(JsonMessage, TellsNoJsonFromJsonThatIsRefused) {
  for (const char* text :
       {"", "{", "{}{}", "nonsense", "\"\xff\"", "\"\\ud800\"", "\xEF\xBB\xBF{}"}) {
    EXPECT_EQ(fault(text), Kind::Syntax) << text;
  }
  EXPECT_EQ(fault(std::string_view("{}\0", 3)), Kind::Syntax);
  for (const char* text : {R"({"a":1,"a":2})", "9223372036854775808", "-9223372036854775809",
                           R"({"a":1,"\u0061":2})"}) {
    EXPECT_EQ(fault(text), Kind::Content) << text;
  }
}

TEST(JsonMessage, BoundsBytesValuesAndDepth) {
  EXPECT_EQ(fault(std::string(65, ' ')), Kind::Content);
  EXPECT_TRUE(read_json_message("[1,2,3,4,5,6,7]", kBounds).has_value());
  EXPECT_EQ(fault("[1,2,3,4,5,6,7,8]"), Kind::Content);
  EXPECT_EQ(fault("[[],[],[],[],[],[],[],[]]"), Kind::Content);
  constexpr MessageBounds kWide{1000, 1000};
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(read_json_message(nested(64), kWide).has_value());
  EXPECT_EQ(fault(nested(65), kWide), Kind::Content);
}

}  // namespace
}  // namespace cordon
