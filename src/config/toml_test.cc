#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/node.h"
#include "config/toml_text.h"

namespace cordon {
namespace {

Place place_of(const Node& node) { return Place{"", node.line, node.column}; }
Place key_place_of(const Node& node) { return Place{"", node.key_line, node.key_column}; }

Error refusal(std::string_view text) {
  auto read = read_toml(text, "a.toml");
  EXPECT_FALSE(read.has_value()) << text.substr(0, 80);
  return read ? Error{} : read.error();
}

std::string dotted(std::size_t parts) {
  std::string key("a");
  for (std::size_t i = 1; i < parts; ++i) key += ".a";
  return key;
}

std::string header(std::size_t parts) {
  std::string text("[");
  return text.append(dotted(parts)).append("]\n");
}

TEST(ReadToml, KnowsThePlaceOfEveryKeyAndValue) {
  const auto read = read_toml(
      "top = 1 # c\n"
      "\n"
      "  [fs]\n"
      "read  = [ \"\xC3\xA9\", 'b',\n"
      "   true ]\n"
      "net.mode = \"x\"\n"
      "set = { A = 1, \"B C\" = 2.5 }\n",
      "a.toml");
  ASSERT_TRUE(read.has_value()) << message(read.error());
  EXPECT_EQ(key_place_of(*read->find("top")), (Place{"", 1, 1}));
  EXPECT_EQ(place_of(*read->find("top")), (Place{"", 1, 7}));
  const Node& fs = *read->find("fs");
  EXPECT_EQ(key_place_of(fs), (Place{"", 3, 4}));
  EXPECT_EQ(place_of(fs), (Place{"", 3, 3}));
  const NodeList& list = std::get<NodeList>(fs.find("read")->value);
  EXPECT_EQ(key_place_of(*fs.find("read")), (Place{"", 4, 1}));
  EXPECT_EQ(place_of(*fs.find("read")), (Place{"", 4, 9}));
  EXPECT_EQ(place_of(list[0]), (Place{"", 4, 11}));
  EXPECT_EQ(place_of(list[1]), (Place{"", 4, 16}));
  EXPECT_EQ(place_of(list[2]), (Place{"", 5, 4}));
  const Node& mode = *fs.find("net")->find("mode");
  EXPECT_EQ(key_place_of(mode), (Place{"", 6, 5}));
  EXPECT_EQ(place_of(mode), (Place{"", 6, 12}));
  const Node& set = *fs.find("set");
  EXPECT_EQ(place_of(set), (Place{"", 7, 7}));
  EXPECT_EQ(key_place_of(*set.find("B C")), (Place{"", 7, 16}));
  EXPECT_EQ(place_of(*set.find("B C")), (Place{"", 7, 24}));
}

TEST(ReadToml, KeepsTheOrderOfTheDocument) {
  const auto read = read_toml("z = 1\na = 2\n[m]\n[b]\n", "a.toml");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(write_json(*read, JsonStyle::Compact), R"({"z":1,"a":2,"m":{},"b":{}})");
}

TEST(ReadToml, ReadsSixtyFourLevelsAndRefusesOneMore) {
  const auto nested = [](std::size_t lists) {
    return "x = " + std::string(lists, '[') + std::string(lists, ']') + "\n";
  };
  EXPECT_TRUE(read_toml(nested(63), "a.toml").has_value());
  const Error error = refusal(nested(64));
  EXPECT_EQ(error.what, "nested deeper than 64");
  EXPECT_EQ(error.place, (Place{"a.toml", 1, 68}));
  EXPECT_EQ(refusal(nested(1U << 18U)).what, "nested deeper than 64");
}

TEST(ReadToml, CountsTheDotsOfKeysAsLevels) {
  EXPECT_TRUE(read_toml(header(63), "a.toml").has_value());
  EXPECT_EQ(refusal(header(64)).what, "nested deeper than 64");
  EXPECT_EQ(refusal(header(500'000)).what, "nested deeper than 64");
  EXPECT_EQ(refusal(dotted(500'000) + " = 1\n").what, "nested deeper than 64");
  EXPECT_EQ(refusal("x = { " + dotted(400'000) + " = 1 }\n").what, "nested deeper than 64");
}

TEST(ReadToml, RefusesDepthMadeOfTablesInTables) {
  const std::string text = header(60) + dotted(60) + " = 1\n";
  EXPECT_EQ(refusal(text).what, "nested deeper than 64");
}

TEST(OverlongTomlKey, IgnoresDotsThatAreNotInKeys) {
  const std::string dots(200, '.');
  const std::string text = "a = \"" + dots + "\" # " + dots + "\nb = '" + dots +
                           "'\nc = \"\"\"\n\"" + dots + "\\\"\"\"\"\"\nd = '''" + dots +
                           "'''\ne = [\"" + dots + "\", \"\\\"" + dots + "\"]\n";
  EXPECT_EQ(find_overlong_toml_key(text), std::nullopt);
  EXPECT_TRUE(read_toml(text, "a.toml").has_value());
}

TEST(OverlongTomlKey, SeesDotsBetweenQuotedParts) {
  std::string key("\"x\"");
  for (int i = 0; i < 63; ++i) key += " . 'x'";
  EXPECT_EQ(find_overlong_toml_key(key + " = 1\n"), std::nullopt);
  EXPECT_NE(find_overlong_toml_key(key + ".x = 1\n"), std::nullopt);
}

TEST(OverlongTomlKey, SeesAKeyBehindAString) {
  EXPECT_NE(find_overlong_toml_key("a = \"x\"\n" + dotted(65)), std::nullopt);
  EXPECT_NE(find_overlong_toml_key("a = '''x'''''\n" + dotted(65)), std::nullopt);
  EXPECT_NE(find_overlong_toml_key("a = '\\'\n" + dotted(65)), std::nullopt);
  EXPECT_NE(find_overlong_toml_key("# '''\n" + dotted(65)), std::nullopt);
}

TEST(ReadToml, ReadsOneMebibyteAndRefusesOneByteMore) {
  const std::string padding((1U << 20U) - 6, ' ');
  EXPECT_TRUE(read_toml("a = 1\n" + padding, "a.toml").has_value());
  const Error error = refusal("a = 1\n " + padding);
  EXPECT_EQ(error.what, "document is larger than 1 MiB");
  EXPECT_EQ(error.place, (Place{"a.toml", 0, 0}));
}

TEST(ReadToml, RefusesBytesThatAreNotUtf8) {
  EXPECT_TRUE(read_toml("a = \"\xC3\xA9\"\n", "a.toml").has_value());
  EXPECT_EQ(refusal("a = 1\nb = \"\xFF\"\n").place->line, 2U);
}

TEST(ReadToml, RefusesDatesInsideLists) {
  const Error error = refusal("a = [1, 2020-01-01]\n");
  EXPECT_EQ(error.what, "dates and times have no meaning here");
  EXPECT_EQ(error.place, (Place{"a.toml", 1, 9}));
}

TEST(ReadToml, RefusesATableHeaderThatStartsWithNoKey) {
  for (const char* text : {"[.]", "[\xC3\xA9]", "[[=]]", "[ \x01", "[#]"}) {
    const Error error = refusal(text);
    EXPECT_THAT(error.what, testing::StartsWith("malformed TOML: expected bare key")) << text;
    EXPECT_EQ(error.place->line, 1U);
  }
}

TEST(ReadToml, RefusesLettersOutsideOfAsciiWhereNoStringIs) {
  for (const char* text : {"\xD1\x97", "a\xC3\xA9 = 1", "a = \xC3\xA9", "a = 1 \xC2\xA1",
                           "a = \"\"\"\\\xC3\xA9\"\"\""}) {
    EXPECT_THAT(refusal(text).what, testing::StartsWith("malformed TOML: ")) << text;
  }
  const auto read = read_toml("a = \"\"\"\\\n  \xC3\xA9\"\"\" # \xD1\x97\n", "a.toml");
  ASSERT_TRUE(read.has_value()) << message(read.error());
  EXPECT_EQ(std::get<std::string>(read->find("a")->value), "\xC3\xA9");
}

RC_GTEST_PROP(ReadToml, AnswersForAnyBytes, ()) {
  const std::string bytes(*rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::elementOf(std::string("[]{}=.,\"'# ab01\n\\-:T")), rc::gen::arbitrary<char>())));
  const auto read = read_toml(bytes, "a.toml");
  RC_ASSERT((read.has_value() || read.error().place.has_value()));
}

}  // namespace
}  // namespace cordon
