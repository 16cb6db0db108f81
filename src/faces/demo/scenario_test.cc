#include "faces/demo/demo_runner.h"

#include <gtest/gtest.h>

namespace cordon::demo {
namespace {

Scenario ended(Expected expected, End end) {
  Scenario scenario;
  scenario.attempt.argv = {"/bin/true"};
  scenario.expected = expected;
  scenario.sight.as_designed = true;
  scenario.report.emplace();
  scenario.report->outcome.emplace();
  scenario.report->outcome->end = std::move(end);
  return scenario;
}

TEST(DemoScenario, CountsOnlyTheEndThatWasExpected) {
  const End succeeded = Exited{0};
  const End failed = Exited{1};
  const End timed_out = TimedOut{1500};
  EXPECT_TRUE(ended(Expected::Allowed, succeeded).behaved());
  EXPECT_TRUE(ended(Expected::Blocked, failed).behaved());
  EXPECT_TRUE(ended(Expected::Stopped, timed_out).behaved());
  for (const auto& [expected, end] :
       {std::pair{Expected::Allowed, failed}, std::pair{Expected::Allowed, timed_out},
        std::pair{Expected::Blocked, succeeded}, std::pair{Expected::Blocked, timed_out},
        std::pair{Expected::Stopped, succeeded}, std::pair{Expected::Stopped, failed}}) {
    EXPECT_FALSE(ended(expected, end).behaved()) << name_of(expected);
  }
}

// A command that was killed, or ended by the person at the terminal, was not blocked by the
// boundary.
TEST(DemoScenario, KilledIsNotBlocked) {
  EXPECT_FALSE(ended(Expected::Blocked, Signaled{9}).behaved());
  EXPECT_FALSE(ended(Expected::Blocked, OverLimit{"oom"}).behaved());
  EXPECT_FALSE(ended(Expected::Blocked, Cancelled{2}).behaved());
  EXPECT_FALSE(ended(Expected::Stopped, Cancelled{2}).behaved());
}

TEST(DemoScenario, TheHostHasTheLastWord) {
  for (const auto& [expected, end] : {std::pair{Expected::Allowed, End{Exited{0}}},
                                      std::pair{Expected::Blocked, End{Exited{1}}}}) {
    Scenario scenario = ended(expected, end);
    scenario.sight.as_designed = false;
    EXPECT_FALSE(scenario.behaved());
  }
}

TEST(DemoScenario, ARefusalToStartShowsNothing) {
  Scenario scenario = ended(Expected::Blocked, Exited{1});
  scenario.report->outcome.reset();
  scenario.report->error = setup_error("no namespaces", 0);
  EXPECT_FALSE(scenario.behaved());
  EXPECT_EQ(scenario.verdict(), "refused to start: no namespaces");
  scenario.report.reset();
  EXPECT_FALSE(scenario.behaved());
  EXPECT_EQ(scenario.verdict(), "not run");
}

TEST(DemoScenario, WithoutACommandTheHostAloneCounts) {
  Scenario scenario;
  EXPECT_FALSE(scenario.behaved());
  scenario.sight.as_designed = true;
  EXPECT_TRUE(scenario.behaved());
}

}  // namespace
}  // namespace cordon::demo
