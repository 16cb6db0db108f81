#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/node.h"
#include "support/node_compare.h"

namespace cordon {
namespace {

Place place_of(const Node& node) { return Place{"", node.line, node.column}; }
Place key_place_of(const Node& node) { return Place{"", node.key_line, node.key_column}; }

Error refusal(std::string_view text) {
  auto read = read_json(text, "a.json");
  EXPECT_FALSE(read.has_value()) << text.substr(0, 80);
  return read ? Error{} : read.error();
}

TEST(ReadJson, KnowsThePlaceOfEveryKeyAndValue) {
  const auto read = read_json(
      "{ \"a\" : 1,\n"
      "\t\"b\":[true ,null,-2.5,\n"
      "   {\"c\\n\":\"x\\\"]\"}, 12],\r\n"
      "  \"\xC3\xA9\": \"\xE2\x82\xAC\" , \"d\":{} }",
      "a.json");
  ASSERT_TRUE(read.has_value()) << message(read.error());
  EXPECT_EQ(place_of(*read), (Place{"", 1, 1}));
  EXPECT_EQ(key_place_of(*read->find("a")), (Place{"", 1, 3}));
  EXPECT_EQ(place_of(*read->find("a")), (Place{"", 1, 9}));
  const Node& b = *read->find("b");
  EXPECT_EQ(key_place_of(b), (Place{"", 2, 2}));
  EXPECT_EQ(place_of(b), (Place{"", 2, 6}));
  const NodeList& list = std::get<NodeList>(b.value);
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(place_of(list[0]), (Place{"", 2, 7}));
  EXPECT_EQ(place_of(list[1]), (Place{"", 2, 13}));
  EXPECT_EQ(place_of(list[2]), (Place{"", 2, 18}));
  EXPECT_EQ(place_of(list[3]), (Place{"", 3, 4}));
  EXPECT_EQ(key_place_of(*list[3].find("c\n")), (Place{"", 3, 5}));
  EXPECT_EQ(place_of(*list[3].find("c\n")), (Place{"", 3, 11}));
  EXPECT_EQ(place_of(list[4]), (Place{"", 3, 20}));
  const Node& accented = *read->find("\xC3\xA9");
  EXPECT_EQ(key_place_of(accented), (Place{"", 4, 3}));
  EXPECT_EQ(place_of(accented), (Place{"", 4, 8}));
  EXPECT_EQ(key_place_of(*read->find("d")), (Place{"", 4, 14}));
  EXPECT_EQ(place_of(*read->find("d")), (Place{"", 4, 18}));
}

TEST(ReadJson, KeepsTheOrderOfTheDocument) {
  const auto read = read_json(R"({"z":1,"a":2,"m":3})", "a.json");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(write_json(*read, JsonStyle::Compact), R"({"z":1,"a":2,"m":3})");
}

TEST(ReadJson, KeepsIntegersApartFromFractions) {
  const auto read =
      read_json("[9223372036854775807,-9223372036854775808,1.0,1e2,-0,0.1]", "a.json");
  ASSERT_TRUE(read.has_value());
  const NodeList& list = std::get<NodeList>(read->value);
  EXPECT_EQ(std::get<std::int64_t>(list[0].value), INT64_MAX);
  EXPECT_EQ(std::get<std::int64_t>(list[1].value), INT64_MIN);
  EXPECT_EQ(std::get<double>(list[2].value), 1.0);
  EXPECT_EQ(std::get<double>(list[3].value), 100.0);
  EXPECT_EQ(std::get<std::int64_t>(list[4].value), 0);
  EXPECT_EQ(std::get<double>(list[5].value), 0.1);
}

TEST(ReadJson, NeverTurnsALargeIntegerIntoAFraction) {
  for (const char* text : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "-9223372036854775809", "100000000000000000000000000"}) {
    const Error error = refusal(std::string(" ") + text);
    EXPECT_EQ(error.what, "integer does not fit into 64 bits") << text;
    EXPECT_EQ(error.place, (Place{"a.json", 1, 2})) << text;
  }
}

TEST(ReadJson, ReadsSixtyFourLevelsAndRefusesOneMore) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(read_json(nested(64), "a.json").has_value());
  const Error error = refusal(nested(65));
  EXPECT_EQ(error.what, "nested deeper than 64");
  EXPECT_EQ(error.place, (Place{"a.json", 1, 65}));
  EXPECT_EQ(refusal(std::string(1U << 19U, '[')).what, "nested deeper than 64");
}

TEST(ReadJson, ReadsOneMebibyteAndRefusesOneByteMore) {
  const std::string padding((1U << 20U) - 2, ' ');
  EXPECT_TRUE(read_json("[]" + padding, "a.json").has_value());
  const Error error = refusal("[] " + padding);
  EXPECT_EQ(error.what, "document is larger than 1 MiB");
  EXPECT_EQ(error.place, (Place{"a.json", 0, 0}));
}

TEST(ReadJson, RefusesBytesThatAreNotUtf8) {
  EXPECT_TRUE(read_json("[\"\xC3\xA9\"]", "a.json").has_value());
  for (const char* text : {"[\"\xFF\"]", "[\"\xC3\"]", "[\"\xC0\xAF\"]", "[\"\xED\xA0\x80\"]"}) {
    EXPECT_EQ(refusal(text).place->line, 1U) << text;
  }
}

TEST(ReadJson, FindsDuplicatesAmongManyKeysInTime) {
  std::string text("{");
  for (int i = 0; i < 60000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(read_json(text + "\"last\":0}", "a.json").has_value());
  EXPECT_EQ(refusal(text + "\"k7\":0}").what, "duplicate key \"k7\"");
}

TEST(ReadJson, AllowsOneKeyInTwoObjects) {
  EXPECT_TRUE(read_json(R"([{"a":1},{"a":1,"b":{"a":1}}])", "a.json").has_value());
}

TEST(WriteJson, IndentsByTwoSpaces) {
  Node node;
  node.set("a", NodeList{Node(1), Node("x")}).set("b", Node(NodeMap{})).set("c", NodeList{});
  EXPECT_EQ(write_json(node, JsonStyle::Pretty),
            "{\n  \"a\": [\n    1,\n    \"x\"\n  ],\n  \"b\": {},\n  \"c\": []\n}");
  EXPECT_EQ(write_json(node, JsonStyle::Compact), R"({"a":[1,"x"],"b":{},"c":[]})");
}

TEST(WriteJson, EscapesWhatMayNotStandInAString) {
  EXPECT_EQ(write_json(Node(std::string("\"\\\n\t\r\x01\x1B\x7F\0é", 11)), JsonStyle::Compact),
            R"("\"\\\n\t\r\u0001\u001b\u007f\u0000é")");
  EXPECT_EQ(write_json(Node("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0\xC3\x9B"), JsonStyle::Compact),
            "\"\\u0080\\u009b\\u009f\xC2\xA0\xC3\x9B\"");
}

TEST(WriteJson, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(write_json(Node(std::string("a\xFF"
                                        "b")),
                       JsonStyle::Compact),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(WriteJson, KeepsFractionsFractions) {
  EXPECT_EQ(write_json(NodeList{Node(2.0), Node(0.1), Node(1e300)}, JsonStyle::Compact),
            "[2.0,0.1,1e+300]");
}

TEST(WriteJson, WritesNullForWhatIsNotANumber) {
  EXPECT_EQ(write_json(NodeList{Node(std::nan("")), Node(HUGE_VAL)}, JsonStyle::Compact),
            "[null,null]");
}

RC_GTEST_PROP(WriteJson, IsReadBackAsTheSameTree, ()) {
  const Node tree = *generate_node(4);
  for (const JsonStyle style : {JsonStyle::Compact, JsonStyle::Pretty}) {
    const auto read = read_json(write_json(tree, style), "a.json");
    RC_ASSERT(read.has_value());
    RC_ASSERT(same_values(*read, tree));
  }
}

RC_GTEST_PROP(WriteJson, IsValidJsonWhateverTheBytes, ()) {
  const std::string bytes(*rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
  RC_ASSERT(read_json(write_json(NodeList{Node(bytes)}, JsonStyle::Compact), "a").has_value());
}

RC_GTEST_PROP(ReadJson, AnswersForAnyBytes, ()) {
  const std::string bytes(*rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::elementOf(std::string("{}[]\",:0123456789.eE-\\u truefalsn\n")),
                     rc::gen::arbitrary<char>())));
  const auto read = read_json(bytes, "a.json");
  RC_ASSERT((read.has_value() || read.error().place.has_value()));
}

}  // namespace
}  // namespace cordon
