#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace cordon {
namespace {

TEST(Sanitize, LeavesReadableTextAlone) {
  EXPECT_EQ(sanitize("plain text, caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC"),
            "plain text, caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC");
}

TEST(Sanitize, ShowsTerminalSequencesInsteadOfSendingThem) {
  EXPECT_EQ(sanitize("\x1B]52;c;aGk=\x07"), "\\x1b]52;c;aGk=\\x07");
  EXPECT_EQ(sanitize("\x1B[2J"), "\\x1b[2J");
  EXPECT_EQ(sanitize("a\rb\x7F"), "a\\x0db\\x7f");
}

TEST(Sanitize, ShowsTheEightBitControlsOfATerminal) {
  EXPECT_EQ(sanitize("\xC2\x9B"
                     "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(sanitize("\x9B"
                     "31m"),
            "\\x9b31m");
}

TEST(Sanitize, ShowsCharactersThatReorderOrHideText) {
  EXPECT_EQ(sanitize("a\xE2\x80\xAE"
                     "b"),
            "a\\u{202e}b");
  EXPECT_EQ(sanitize("\xD8\x9C"), "\\u{61c}");
  EXPECT_EQ(sanitize("\xE2\x80\xA8"), "\\u{2028}");
  EXPECT_EQ(sanitize("\xF3\xA0\x81\x81"), "\\u{e0041}");
}

TEST(Sanitize, ShowsEveryByteThatIsNotUtf8) {
  EXPECT_EQ(sanitize("\xFF\xC0\xAF"), "\\xff\\xc0\\xaf");
  EXPECT_EQ(sanitize("\xED\xA0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(sanitize("\xE2\x80"), "\\xe2\\x80");
}

TEST(Sanitize, KeepsLineBreaksOnlyWhereAsked) {
  EXPECT_EQ(sanitize("a\n\tb"), "a\\x0a\\x09b");
  EXPECT_EQ(sanitize_lines("a\n\tb\r"), "a\n\tb\\x0d");
}

RC_GTEST_PROP(Sanitize, NeverLetsAControlByteThrough, (const std::string& bytes)) {
  const std::string shown = sanitize(bytes);
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    RC_ASSERT((byte >= 0x20U && byte != 0x7FU));
  }
  RC_ASSERT(is_valid_utf8(shown));
  RC_ASSERT(sanitize(shown) == shown);
}

TEST(Quote, AddsNothingToPlainWords) { EXPECT_EQ(quote("/usr/bin/gcc-12"), "/usr/bin/gcc-12"); }

TEST(Quote, WrapsWhatAShellWouldSplitOrExpand) {
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(quote("a b"), "'a b'");
  EXPECT_EQ(quote("$(id)"), "'$(id)'");
  EXPECT_EQ(quote("it's"), "'it'\\''s'");
  EXPECT_EQ(quote("a\\b c"), "'a\\b c'");
}

TEST(Quote, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(quote("a'\x1B[m\\"), "$'a\\'\\x1b[m\\\\'");
  EXPECT_EQ(quote("\xE2\x80\xAE"), "$'\\xe2\\x80\\xae'");
}

// The definition, without a table.
std::size_t slow_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::size_t change = a.back() == b.back() ? 0 : 1;
  const auto shorter = [](std::string_view s, std::size_t n) { return s.substr(0, s.size() - n); };
  std::size_t best =
      std::min({slow_distance(shorter(a, 1), b) + 1, slow_distance(a, shorter(b, 1)) + 1,
                slow_distance(shorter(a, 1), shorter(b, 1)) + change});
  if (a.size() > 1 && b.size() > 1 && a.back() == b[b.size() - 2] && b.back() == a[a.size() - 2]) {
    best = std::min(best, slow_distance(shorter(a, 2), shorter(b, 2)) + 1);
  }
  return best;
}

rc::Gen<std::string> short_word() {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 6), [](std::size_t length) {
    return rc::gen::container<std::string>(length, rc::gen::elementOf(std::string("abc")));
  });
}

RC_GTEST_PROP(EditDistance, EqualsItsDefinition, ()) {
  const std::string a = *short_word();
  const std::string b = *short_word();
  RC_ASSERT(edit_distance(a, b) == slow_distance(a, b));
}

TEST(Nearest, SuggestsTheClosestWord) {
  const std::array<std::string_view, 4> keys{"read", "write", "deny", "scratch"};
  EXPECT_EQ(nearest("wrote", keys), "write");
  EXPECT_EQ(nearest("raed", keys), "read");
  EXPECT_EQ(nearest("scrach", keys), "scratch");
}

TEST(Nearest, SuggestsNothingForAnUnrelatedWord) {
  const std::array<std::string_view, 2> keys{"read", "write"};
  EXPECT_EQ(nearest("network", keys), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
}

TEST(ParseSize, ReadsPowersOf1024) {
  EXPECT_EQ(parse_size("10K"), 10240U);
  EXPECT_EQ(parse_size("512M"), 512ULL << 20U);
  EXPECT_EQ(parse_size("1G"), 1ULL << 30U);
  EXPECT_EQ(parse_size("2T"), 2ULL << 40U);
  EXPECT_EQ(parse_size("16777215T"), 16777215ULL << 40U);
}

TEST(ParseSize, RefusesWhatHasNoUnitOrNoSense) {
  for (const char* text : {"", "10", "0K", "K", "-1K", "+1K", "1.5G", "1 G", " 1G", "1G ", "1k",
                           "1KB", "1GiB", "0x1K", "16777216T", "99999999999999999999K"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(ParseDuration, ReadsMilliseconds) {
  EXPECT_EQ(parse_duration("250ms"), 250U);
  EXPECT_EQ(parse_duration("30s"), 30'000U);
  EXPECT_EQ(parse_duration("5m"), 300'000U);
  EXPECT_EQ(parse_duration("2h"), 7'200'000U);
}

TEST(ParseDuration, RefusesWhatHasNoUnitOrNoSense) {
  for (const char* text : {"", "30", "0s", "0ms", "-5s", "1.5h", "1d", "s", "5M", "5 s", "1h30m",
                           "5124095576030432h"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(FormatDuration, IsReadBackUnchanged, ()) {
  const auto value = *rc::gen::inRange<std::uint64_t>(1, 100'000'000);
  RC_ASSERT(parse_duration(format_duration(value)) == value);
}

RC_GTEST_PROP(FormatSize, IsReadBackUnchangedForMultiplesOf1024, ()) {
  const auto value = 1024 * *rc::gen::inRange<std::uint64_t>(1, 1ULL << 40U);
  RC_ASSERT(parse_size(format_size(value)) == value);
}

TEST(Format, UsesTheLargestUnitThatDivides) {
  EXPECT_EQ(format_size(1ULL << 30U), "1G");
  EXPECT_EQ(format_size(1536ULL << 20U), "1536M");
  EXPECT_EQ(format_size(1025), "1025B");
  EXPECT_EQ(format_size(0), "0B");
  EXPECT_EQ(format_duration(90'000), "90s");
  EXPECT_EQ(format_duration(3'600'000), "1h");
  EXPECT_EQ(format_duration(1'001), "1001ms");
}

TEST(ParseNumber, ReadsDecimalDigitsOnly) {
  EXPECT_EQ(parse_number("0"), 0U);
  EXPECT_EQ(parse_number("18446744073709551615"), 18446744073709551615ULL);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "18446744073709551616"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split(std::string_view("a::b:"), ':'),
            (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split(std::string_view(""), ':'), (std::vector<std::string_view>{""}));
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndNumbersPastTheLast) {
  EXPECT_TRUE(is_valid_utf8("\xF4\x8F\xBF\xBF"));
  EXPECT_TRUE(is_valid_utf8("\xED\x9F\xBF"));
  for (const char* text :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_valid_utf8(text));
  }
}

TEST(Utf8, ReplacesEachBrokenPieceByOneMark) {
  EXPECT_EQ(to_utf8("a\xFF"
                    "b\xE2\x82"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

RC_GTEST_PROP(Utf8, IsAlwaysTheResultOfToUtf8, (const std::string& bytes)) {
  RC_ASSERT(is_valid_utf8(to_utf8(bytes)));
  if (is_valid_utf8(bytes)) RC_ASSERT(to_utf8(bytes) == bytes);
}

}  // namespace
}  // namespace cordon
