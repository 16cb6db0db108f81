#include "cordon/outcome.h"

#include <gtest/gtest.h>

#include <csignal>

namespace cordon {
namespace {

TEST(ExitStatus, IsWhatAShellWouldSee) {
  EXPECT_EQ(exit_status(Exited{3}), 3);
  EXPECT_EQ(exit_status(Signaled{SIGTERM}), 143);
  EXPECT_EQ(exit_status(TimedOut{30'000}), 124);
  EXPECT_EQ(exit_status(OverLimit{"oom"}), 137);
  EXPECT_EQ(exit_status(Cancelled{SIGINT}), 130);
  EXPECT_EQ(exit_status(Cancelled{0}), 137);
}

TEST(SignalName, IsTheNameAPersonKnows) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGSYS), "SIGSYS");
  EXPECT_EQ(signal_name(SIGRTMIN), "SIGRTMIN");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
  EXPECT_EQ(signal_name(200), "SIG200");
}

TEST(ReductionReason, IsSpelledAsInTheReport) {
  EXPECT_EQ(name_of(Reduction::Because::OutsideCeiling), "outside-ceiling");
  EXPECT_EQ(name_of(Reduction::Because::Narrowed), "narrowed");
  EXPECT_EQ(name_of(Reduction::Because::SymlinkEscape), "symlink-escape");
  EXPECT_EQ(name_of(Reduction::Because::Nonexistent), "nonexistent");
  EXPECT_EQ(name_of(Reduction::Because::Unenforceable), "unenforceable");
  EXPECT_EQ(name_of(Reduction::Because::Malformed), "malformed");
  EXPECT_EQ(name_of(Reduction::Because::Forbidden), "forbidden");
}

TEST(StreamText, IsTheBytesWhenNothingWasDropped) {
  EXPECT_EQ((Stream{"hello\n", "", 6}).text(), "hello\n");
  EXPECT_EQ((Stream{"a\xC3", "\xA9", 3}).text(), "a\xC3\xA9");
}

TEST(StreamText, MarksWhereBytesWereDropped) {
  EXPECT_EQ((Stream{"head", "tail", 108}).text(), "head\n[... 100 bytes dropped ...]\ntail");
  EXPECT_EQ((Stream{"head", "", 5}).text(), "head\n[... 1 bytes dropped ...]\n");
}

TEST(StreamText, ShowsNoHalfCharactersAtTheCut) {
  EXPECT_EQ((Stream{"a\xE6\x97",
                    "\x9C\xAC"
                    "b",
                    20})
                .text(),
            "a\n[... 18 bytes dropped ...]\nb");
}

TEST(StreamText, IsValidUtf8ForAnyBytes) {
  EXPECT_EQ((Stream{"\xFFx", "", 2}).text(), "\xEF\xBF\xBDx");
}

}  // namespace
}  // namespace cordon
