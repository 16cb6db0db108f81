#include "config/json_line.h"

#include <gtest/gtest.h>

#include <charconv>
#include <string>

#include "config/node.h"

namespace cordon {
namespace {

Node node_of(const LineValue& value) {
  switch (value.kind) {
    case LineValue::Kind::Null:
      return {};
    case LineValue::Kind::Bool:
      return {value.truth};
    case LineValue::Kind::Integer:
      return {value.number};
    case LineValue::Kind::Real: {
      double number = 0;
      std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
      return {number};
    }
    case LineValue::Kind::Text:
      return {value.text};
    case LineValue::Kind::List: {
      NodeList list;
      for (const LineValue& below : value) list.push_back(node_of(below));
      return {std::move(list)};
    }
    case LineValue::Kind::Map: {
      NodeMap map;
      for (const LineValue& below : value) map.emplace_back(below.key, node_of(below));
      return {std::move(map)};
    }
  }
  return {};
}

// Both readers agree about what is JSON, and about what it says.
class JsonLineText : public testing::TestWithParam<const char*> {};

TEST_P(JsonLineText, IsReadAsADocumentIs) {
  const auto document = read_json(GetParam(), "line");
  JsonLine line;
  ASSERT_EQ(line.read(GetParam()), document.has_value());
  if (document) {
    EXPECT_EQ(write_json(node_of(line.root()), JsonStyle::Compact),
              write_json(*document, JsonStyle::Compact));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Good, JsonLineText,
    testing::Values(R"({})", R"([])", R"(null)", R"(true)", R"("")", R"(0)", R"(-1)",
                    R"(9223372036854775807)", R"(-9223372036854775808)", R"(0.5)", R"(1e3)",
                    R"({"a":1,"b":[true,false,null,"x",{"c":{}}],"d":"\"\\\/\b\f\n\r\t"})",
                    R"("é€ \u00e9 \ud83d\ude00 \ud7ff \ue000")", R"( { "a" : [ 1 , 2 ] } )",
                    R"({"a":{"b":1},"b":{"b":1}})", R"([1,22,-333,[4444],{"a":55555}])",
                    R"({"a long key, longer than a register of the processor":"é and a text\n"})",
                    R"("0123456789abcde\"0123456789abcdef\\0123456789abcdef0")"));

INSTANTIATE_TEST_SUITE_P(
    Bad, JsonLineText,
    testing::Values("", " ", "{", "}", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "nul", "tru", "01",
                    "+1", "1.", ".5", "1 2", "{} {}", "\"a", "\"\x01\"", "\"\\x\"", "\"\\u12\"",
                    "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\\ud800\"", "\"\\udc00\"",
                    "{\"\\udfff\":1}", "\"0123456789abcdef\xff\"", "\"0123456789abcdef\x01\"",
                    "\"0123456789abcdef", "[12", "[1,22,-", "{\"a\":1,\"a\":2}",
                    "{\"b\":{\"a\":1,\"a\":2}}", "9223372036854775808", "-9223372036854775809",
                    "\xef\xbb\xbf{}", "/**/{}", "NaN", "Infinity"));

TEST(JsonLine, HasTheBoundsOfADocument) {
  const std::string deep(64, '[');
  const std::string shut(64, ']');
  JsonLine line;
  EXPECT_TRUE(line.read(deep + shut));
  EXPECT_FALSE(line.read("[" + deep + shut + "]"));
  EXPECT_FALSE(line.read(std::string(kMaxDocumentBytes, '[')));
  std::string maps;
  while (maps.size() < kMaxDocumentBytes - 5) maps += "{\"a\":";
  EXPECT_FALSE(line.read(maps));
  EXPECT_TRUE(line.read("\"" + std::string(1000, 'x') + "\""));
  EXPECT_FALSE(line.read("\"" + std::string(kMaxDocumentBytes, 'x') + "\""));
  EXPECT_FALSE(line.read(std::string("{}\0", 3)));
}

// Whether a key was there before is told by a bit that several keys share.
TEST(JsonLine, TellsEveryDoubledKeyAndNoOther) {
  constexpr int kKeys = 300;
  std::string members;
  for (int i = 0; i < kKeys; ++i) members += "\"" + std::to_string(i) + "\":{\"\":1},";
  JsonLine line;
  ASSERT_TRUE(line.read("{" + members + "\"\":[]}"));
  EXPECT_NE(line.root().find("299"), nullptr);
  EXPECT_EQ(line.root().find("300"), nullptr);
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_FALSE(line.read("{" + members + "\"" + std::to_string(i) + "\":0}")) << i;
  }
}

TEST(JsonLine, IsUsedAgainAndMoved) {
  JsonLine line;
  ASSERT_TRUE(line.read(R"({"a":[1,{"b":"x"}],"c":"y"})"));
  ASSERT_FALSE(line.read(R"({"a":)"));
  ASSERT_TRUE(line.read(R"({"d":{"e":"short"},"f":-7})"));
  const LineValue& before = line.root();
  const JsonLine moved = std::move(line);
  EXPECT_EQ(&moved.root(), &before);
  EXPECT_EQ(moved.root().find("a"), nullptr);
  const LineValue* map = moved.root().find("d");
  const LineValue* number = moved.root().find("f");
  ASSERT_NE(map, nullptr);
  ASSERT_NE(number, nullptr);
  const LineValue* inner = map->find("e");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->text, "short");
  EXPECT_EQ(number->number, -7);
  EXPECT_EQ(number->find("e"), nullptr);
}

}  // namespace
}  // namespace cordon
