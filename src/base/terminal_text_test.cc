#include "base/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

namespace cordon {
namespace {

TEST(TerminalText, LeavesWhatATerminalShows) {
  EXPECT_EQ(without_terminal_sequences("plain \xC3\xA4\t\xF0\x9F\x98\x80\r\n"),
            "plain \xC3\xA4\t\xF0\x9F\x98\x80\r\n");
  EXPECT_EQ(without_terminal_sequences("a \\x1b[31m b"), "a \\x1b[31m b");
}

TEST(TerminalText, TakesSequencesAwayWhole) {
  EXPECT_EQ(without_terminal_sequences("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(without_terminal_sequences("\x1b[?25l\x1b[2K\x1b[1 q50%"), "50%");
  EXPECT_EQ(without_terminal_sequences("\x1b]0;a title\x07 text"), " text");
  EXPECT_EQ(without_terminal_sequences("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(without_terminal_sequences("\x1bP1$r0m\x1b\\\x1b(B\x1b=x"), "x");
  EXPECT_EQ(without_terminal_sequences("\xC2\x9B"
                                       "31mred\xC2\x9D"
                                       "0;t\xC2\x9C."),
            "red.");
  EXPECT_EQ(without_terminal_sequences("a\x08\x07\x7F"
                                       "b"),
            "ab");
}

TEST(TerminalText, LosesNoMoreThanTheLineToASequenceThatEndsNowhere) {
  EXPECT_EQ(without_terminal_sequences("a\x1b]0;title\nb"), "a\nb");
  EXPECT_EQ(without_terminal_sequences("a\x1b[31\nb"), "a\nb");
  EXPECT_EQ(without_terminal_sequences("a\x1b"), "a");
  EXPECT_EQ(without_terminal_sequences("a\x1b[3"), "a");
}

TEST(TerminalText, ReordersAndHidesNothing) {
  EXPECT_EQ(without_terminal_sequences("a\xE2\x80\xAE"
                                       "b\xE2\x80\x8B"
                                       "c"),
            "abc");
  EXPECT_EQ(without_terminal_sequences("a\xFF"
                                       "b"),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(TerminalText, ItsResultHasNothingMoreToTakeAway) {
  const std::string bytes("\x1b\x9b[]\\0;m\n\xC2\x9Bx\x07", 14);
  std::string text;
  for (std::size_t i = 0; i < 4096; ++i) text += bytes[(i * i * 7 + i / 3) % bytes.size()];
  const std::string once = without_terminal_sequences(text);
  EXPECT_EQ(without_terminal_sequences(once), once);
  EXPECT_EQ(once.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cordon
