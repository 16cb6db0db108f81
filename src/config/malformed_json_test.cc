// Malformed JSON documents, one per row, each refused at an exact place and with an exact text.
#include <gtest/gtest.h>

#include "support/malformed.h"

namespace cordon {
namespace {

using namespace std::string_view_literals;

class MalformedJson : public testing::TestWithParam<Malformed> {};

constexpr Malformed kJsonRows[] = {
    {"Empty", "policy.json", ""sv, 1, 1,
     "malformed JSON: unexpected end of input; expected '[', '{', or a literal",
     "the document is empty: an object is {\"version\": 1}"},
    {"NotATable", "policy.json", "[1]"sv, 1, 1, "the document must be a table, not a list", ""},
    {"NoVersion", "policy.json", " {}"sv, 1, 2, "missing key \"version\"", "add version = 1"},
    {"Truncated", "policy.json", "{\"version\": 1,"sv, 1, 15,
     "malformed JSON: unexpected end of input; expected string literal",
     "the document ends too early: remove the comma at its end, or close what is open with } or ]"},
    {"TrailingComma", "policy.json", "{\"version\": 1,}"sv, 1, 15,
     "malformed JSON: unexpected '}'; expected string literal",
     "remove the comma before it, or close what was opened last"},
    {"DoubledComma", "policy.json", "{\"version\": 1,, \"fs\": {}}"sv, 1, 15,
     "malformed JSON: unexpected ','; expected string literal",
     "write one comma between two entries, and none before the first"},
    {"MissingComma", "policy.json", "{\"version\": 1\n \"fs\": {}}"sv, 2, 2,
     "malformed JSON: unexpected string literal; expected '}'",
     "write a comma between two entries, or close the list"},
    {"MissingColon", "policy.json", "{\"version\" 1}"sv, 1, 12,
     "malformed JSON: unexpected number literal; expected ':'",
     "write a colon between a name and its value: {\"version\": 1}"},
    {"LiteralForKey", "policy.json", "{\n  true: 1}"sv, 2, 3,
     "malformed JSON: unexpected true literal; expected string literal",
     "names stand in double quotes: {\"version\": 1}"},
    {"Trailing", "policy.json", "{\"version\": 1} x"sv, 1, 16, "malformed JSON: invalid literal",
     "texts and names stand in double quotes; without them there are numbers, true, false and "
     "null"},
    {"SecondDocument", "policy.json", "{\"version\": 1}\n{}"sv, 2, 1,
     "malformed JSON: unexpected '{'; expected end of input",
     "the document is over before this: remove what is behind it"},
    {"Comment", "policy.json", "{\"version\": 1} // x"sv, 1, 16, "malformed JSON: invalid literal",
     "JSON has no comments: remove it, or write the document in TOML"},
    {"DuplicateKey", "policy.json",
     "{\"version\": 1,\n \"fs\": {\"read\": [], \"read\": [\"/\"]}}"sv, 2, 21,
     "duplicate key \"read\"", "keep one of the two"},
    {"DuplicateKeyByEscape", "policy.json", "{\"version\": 1, \"vers\\u0069on\": 1}"sv, 1, 16,
     "duplicate key \"version\"", "keep one of the two"},
    {"UnknownKey", "policy.json", "{\"version\": 1,\n  \"fs\": {\n    \"wrote\": []}}"sv, 3, 5,
     "unknown key \"wrote\" in [fs]", "did you mean \"write\"?"},
    {"IntegerPastInt64", "policy.json",
     "{\"version\": 1, \"limits\": {\"pids\": 9223372036854775808}}"sv, 1, 35,
     "integer does not fit into 64 bits", "write a number closer to zero"},
    {"IntegerPastUint64", "policy.json",
     "{\"version\": 1, \"limits\": {\"pids\": 18446744073709551616}}"sv, 1, 35,
     "integer does not fit into 64 bits", "write a number closer to zero"},
    {"IntegerBelowInt64", "policy.json",
     "{\"version\": 1, \"limits\": {\"pids\": -9223372036854775809}}"sv, 1, 35,
     "integer does not fit into 64 bits", "write a number closer to zero"},
    {"NumberOverflow", "policy.json", "{\"version\": 1, \"limits\": {\"cpus\": 1e999}}"sv, 1, 35,
     "malformed JSON: number overflow parsing '1e999'", "write a number closer to zero"},
    {"NanWord", "policy.json", "{\"version\": 1, \"limits\": {\"cpus\": NaN}}"sv, 1, 35,
     "malformed JSON: invalid literal",
     "texts and names stand in double quotes; without them there are numbers, true, false and "
     "null"},
    {"VersionOverflowsToOne", "policy.json", "{\"version\": 18446744073709551617}"sv, 1, 13,
     "integer does not fit into 64 bits", "write a number closer to zero"},
    {"PidsAsExponent", "policy.json", "{\"version\": 1, \"limits\": {\"pids\": 1e2}}"sv, 1, 35,
     "\"pids\" in [limits] must be a whole number, not a fraction",
     "write digits alone, without quotes: 256"},
    {"NullSection", "policy.json", "{\"version\": 1, \"fs\": null}"sv, 1, 22,
     "[fs] must be a table, not null", ""},
    {"NullPath", "policy.json", "{\"version\": 1, \"fs\": {\"read\": [\"/a\", null]}}"sv, 1, 38,
     "\"read\" in [fs] must hold strings only, not null", "put each in quotes"},
    {"RawNewlineInString", "policy.json", "{\"version\": 1, \"extends\": \"str\nict\"}"sv, 1, 31,
     "malformed JSON: invalid string: control character U+000A (LF) must be escaped to \\u000A or "
     "\\n",
     ""},
    {"UnclosedString", "policy.json", "{\"version\": 1, \"extends\": \"strict}"sv, 1, 35,
     "malformed JSON: invalid string: missing closing quote", "close the text with a double quote"},
    {"SingleQuotes", "policy.json", "{'version': 1}"sv, 1, 2, "malformed JSON: invalid literal",
     "texts and names stand in double quotes: \"read\""},
    {"OpenList", "policy.json", "{\"version\": 1, \"fs\": {\"read\": [\"/a\""sv, 1, 36,
     "malformed JSON: unexpected end of input; expected ']'",
     "the document ends too early: close what is open with } or ]"},
    {"BadEscape", "policy.json", "{\"version\": 1, \"extends\": \"\\q\"}"sv, 1, 29,
     "malformed JSON: invalid string: forbidden character after backslash",
     "write a backslash as two: \\\\"},
    {"LoneSurrogate", "policy.json", "{\"version\": 1, \"extends\": \"\\ud800\"}"sv, 1, 34,
     "malformed JSON: invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF",
     ""},
    {"EscapedNulInPath", "policy.json", "{\"version\": 1, \"fs\": {\"read\": [\"\\u0000\"]}}"sv, 1,
     32, "path \"\\x00\" holds a control byte",
     "rename it, or grant the directory that it lies in"},
    {"ByteOrderMark", "policy.json", "\357\273\277{\"version\": 1}"sv, 1, 1,
     "document starts with a byte-order mark", "save it as UTF-8 without a byte-order mark"},
    {"NulByte", "policy.json", "{\"version\": 1\n,\0}"sv, 2, 2, "document holds a NUL byte",
     "name a text file, in TOML or JSON"},
    {"KeychainTrue", "policy.json", "{\"version\": 1, \"keychainAccess\": true}"sv, 1, 16,
     "\"keychainAccess\" is never granted", "remove it: no policy reaches the keychain"},
    {"PlaceBehindEscapesAndBrackets", "policy.json",
     "{\"fs\": {\"read\": [\"\\\"]}:,\", \"\\u00e9\303\251\"], \"x\": 1}, \"version\": 1}"sv, 1, 40,
     "unknown key \"x\" in [fs]",
     "the keys are read write deny scratch home caches trust_tracked mode stage"},
    {"PlaceBehindNumbers", "policy.json",
     "{\"version\":1,\"limits\":{\"pids\":5,\"cpus\":1.5,\"files\":0}}"sv, 1, 52,
     "\"files\" in [limits] must be more than zero", "leave the key out to set no limit"},
};

TEST_P(MalformedJson, IsRefusedAtItsPlaceWithItsCure) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, MalformedJson, testing::ValuesIn(kJsonRows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cordon
