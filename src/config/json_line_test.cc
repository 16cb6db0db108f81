#include <gtest/gtest.h>

#include "config/node.h"

namespace cordon {
namespace {

// Both readers agree about what is JSON, and about what it says.
class JsonLine : public testing::TestWithParam<const char*> {};

TEST_P(JsonLine, IsReadAsADocumentIs) {
  const auto document = read_json(GetParam(), "line");
  const auto line = read_json_line(GetParam());
  ASSERT_EQ(line.has_value(), document.has_value());
  if (line) {
    EXPECT_EQ(write_json(*line, JsonStyle::Compact), write_json(*document, JsonStyle::Compact));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Good, JsonLine,
    testing::Values(R"({})", R"([])", R"(null)", R"(true)", R"("")", R"(0)", R"(-1)",
                    R"(9223372036854775807)", R"(-9223372036854775808)", R"(0.5)", R"(1e3)",
                    R"({"a":1,"b":[true,false,null,"x",{"c":{}}],"d":"\"\\\/\b\f\n\r\t"})",
                    R"("é€ \u00e9 \ud83d\ude00 \ud7ff \ue000")", R"( { "a" : [ 1 , 2 ] } )",
                    R"({"a":{"b":1},"b":{"b":1}})", R"([1,22,-333,[4444],{"a":55555}])",
                    R"({"a long key, longer than a register of the processor":"é and a text\n"})",
                    R"("0123456789abcde\"0123456789abcdef\\0123456789abcdef0")"));

INSTANTIATE_TEST_SUITE_P(
    Bad, JsonLine,
    testing::Values("", " ", "{", "}", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "nul", "tru", "01",
                    "+1", "1.", ".5", "1 2", "{} {}", "\"a", "\"\x01\"", "\"\\x\"", "\"\\u12\"",
                    "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\\ud800\"", "\"\\udc00\"",
                    "{\"\\udfff\":1}", "\"0123456789abcdef\xff\"", "\"0123456789abcdef\x01\"",
                    "\"0123456789abcdef", "[12", "[1,22,-", "{\"a\":1,\"a\":2}",
                    "{\"b\":{\"a\":1,\"a\":2}}", "9223372036854775808", "-9223372036854775809",
                    "\xef\xbb\xbf{}", "/**/{}", "NaN", "Infinity"));

TEST(JsonLineBounds, AreThoseOfADocument) {
  const std::string deep(64, '[');
  const std::string shut(64, ']');
  EXPECT_TRUE(read_json_line(deep + shut).has_value());
  EXPECT_FALSE(read_json_line("[" + deep + shut + "]").has_value());
  EXPECT_TRUE(read_json_line("\"" + std::string(1000, 'x') + "\"").has_value());
  EXPECT_FALSE(read_json_line("\"" + std::string(kMaxDocumentBytes, 'x') + "\"").has_value());
  EXPECT_FALSE(read_json_line(std::string("{}\0", 3)).has_value());
}

}  // namespace
}  // namespace cordon
