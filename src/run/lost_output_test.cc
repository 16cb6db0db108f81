#include "run/lost_output.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace cordon {
namespace {

TEST(LostOutput, IsSaidInTheWordsOfTheSystem) {
  EXPECT_EQ(lost_output_message(lost_output(ENOSPC)),
            "cannot write the command's output: No space left on device");
  EXPECT_EQ(lost_output_message(lost_output(ETIMEDOUT)),
            "cannot write the command's output: nobody read it in time");
}

TEST(LostOutput, IsNotToldToAReaderThatHasGone) {
  EXPECT_TRUE(is_lost_output(lost_output(EPIPE)));
  EXPECT_EQ(lost_output_message(lost_output(EPIPE)), std::nullopt);
}

TEST(LostOutput, IsNotTheLimitOfAllOutput) {
  const Denial limit{"output", "killed at the output limit", "relay", 1};
  EXPECT_FALSE(is_lost_output(limit));
  EXPECT_EQ(lost_output_message(limit), std::nullopt);
}

TEST(LostOutput, TurnsSuccessAloneIntoFailure) {
  EXPECT_EQ(exit_status(end_with_lost_output(Exited{0})), 128 + SIGPIPE);
  EXPECT_EQ(exit_status(end_with_lost_output(Exited{3})), 3);
  EXPECT_EQ(exit_status(end_with_lost_output(TimedOut{100})), 124);
  EXPECT_EQ(exit_status(end_with_lost_output(Signaled{SIGKILL})), 128 + SIGKILL);
}

}  // namespace
}  // namespace cordon
