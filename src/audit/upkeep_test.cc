#include "audit/upkeep.h"

#include <filesystem>

#include "audit/checkpoint.h"
#include "audit/files.h"
#include "audit/prune.h"
#include "audit/test_log.h"

namespace cordon::audit {
namespace {

class Upkeep : public TestLog {
 protected:
  // A log of `days` days that end at noon, with one action each.
  Log log_of(int days) {
    Log log = open(kBoot, kNoon);
    for (int day = 0; day < days; ++day) {
      MovedClock::wall = kNoon + day * kDay;
      run(log);
    }
    return log;
  }
  void expect_kept(Log& log, const std::vector<KeepBounds>& keep) {
    const auto kept = keep_up(log, keep);
    EXPECT_TRUE(kept.has_value()) << message(kept.error());
  }
  [[nodiscard]] std::size_t days() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place_.directory)) {
      if (entry.path().extension() == ".jsonl" && entry.path().stem() != "checkpoints") ++count;
    }
    return count;
  }
  [[nodiscard]] std::size_t checkpoints() const {
    const auto directory = open_private_directory(place_.directory, IfAbsent::Refuse);
    const auto found = read_checkpoints(directory->get());
    return found ? found->size() : 0;
  }
  void expect_holds() const {
    const auto verified = verify(place_, {});
    ASSERT_TRUE(verified.has_value()) << message(verified.error());
    for (const Finding& finding : verified->findings) ADD_FAILURE() << finding.what;
  }
  static constexpr const char* kBoot = "00000000-0000-4000-8000-00000000000a";
};

TEST_F(Upkeep, SignsEachDayButNotTheFirst) {
  Log log = log_of(1);
  expect_kept(log, {});
  EXPECT_EQ(checkpoints(), 0U);
  EXPECT_FALSE(std::filesystem::exists(path("signing.key")));
  for (int day = 1; day < 4; ++day) {
    MovedClock::wall = kNoon + day * kDay;
    run(log);
    expect_kept(log, {});
    run(log);
    expect_kept(log, {});
    EXPECT_EQ(checkpoints(), static_cast<std::size_t>(day));
  }
  expect_holds();
}

TEST_F(Upkeep, SignsEachThousandRecords) {
  Log log = log_of(1);
  for (int i = 0; i < 1023; ++i) run(log);
  expect_kept(log, {});
  EXPECT_EQ(checkpoints(), 1U);
  expect_kept(log, {});
  EXPECT_EQ(checkpoints(), 1U);
  expect_holds();
}

TEST_F(Upkeep, RemovesWhatIsTooOld) {
  Log log = log_of(6);
  expect_kept(log, {{.days = 2, .bytes = {}}});
  EXPECT_EQ(days(), 2U);
  expect_holds();
}

TEST_F(Upkeep, RemovesTheOldestOfWhatIsTooMuch) {
  Log log = log_of(6);
  const std::uint64_t day = std::filesystem::file_size(path("2025-11-08.jsonl"));
  expect_kept(log, {{.days = {}, .bytes = 3 * day + day / 2}});
  EXPECT_EQ(days(), 3U);
  expect_holds();
  // Never the newest, however large.
  expect_kept(log, {{.days = {}, .bytes = 1}});
  EXPECT_EQ(days(), 1U);
  expect_holds();
}

TEST_F(Upkeep, ACeilingCannotShortenWhatAnotherKeeps) {
  Log log = log_of(6);
  expect_kept(log, {{.days = 1, .bytes = {}}, {.days = {}, .bytes = 1U << 30U}});
  EXPECT_EQ(days(), 6U);
  expect_kept(log, {{.days = 1, .bytes = {}}, {.days = 4, .bytes = 1U << 30U}});
  EXPECT_EQ(days(), 4U);
  expect_holds();
}

TEST_F(Upkeep, KeepsWhatSomethingOpenBeganIn) {
  Log log = log_of(2);
  MovedClock::wall = kNoon + 2 * kDay;
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  for (int day = 3; day < 6; ++day) {
    MovedClock::wall = kNoon + day * kDay;
    run(log);
  }
  expect_kept(log, {{.days = 1, .bytes = {}}});
  EXPECT_EQ(days(), 4U);
  ASSERT_TRUE(log.close(*receipt, {}).has_value());
  // Looked for again on the next day.
  MovedClock::wall = kNoon + 6 * kDay;
  run(log);
  expect_kept(log, {{.days = 1, .bytes = {}}});
  EXPECT_EQ(days(), 1U);
  expect_holds();
}

TEST_F(Upkeep, LeavesDaysThatDoNotHoldAndSaysSoEachTime) {
  Log log = log_of(4);
  // Each case: the first day without its last line, without its first, and with another byte.
  const std::string good = read("2025-11-07.jsonl");
  const std::size_t line = good.find('\n') + 1;
  std::string edited = good;
  edited[good.find("success")] = 'x';
  for (const std::string& bad : {good.substr(0, line), good.substr(line), edited}) {
    put("2025-11-07.jsonl", bad);
    for (int i = 0; i < 2; ++i) {
      const auto kept = keep_up(log, std::vector<KeepBounds>{{.days = 2, .bytes = {}}});
      ASSERT_FALSE(kept.has_value());
      EXPECT_EQ(kept.error().hint, "cordon audit verify says what is wrong with them");
      EXPECT_EQ(days(), 4U);
    }
  }
  put("2025-11-07.jsonl", good);
  expect_kept(log, {{.days = 2, .bytes = {}}});
  EXPECT_EQ(days(), 2U);
  expect_holds();
}

TEST_F(Upkeep, ASignedRecordThatIsNoLongerThereKeepsTheDays) {
  Log log = log_of(2);
  expect_kept(log, {});
  ASSERT_EQ(checkpoints(), 1U);
  // Rewritten from the beginning by somebody who has the key of the lines, and not the other one.
  const std::string signed_before = read("checkpoints.jsonl");
  const std::string seed = read("signing.key");
  std::filesystem::remove_all(place_.directory);
  Log again = log_of(4);
  put("checkpoints.jsonl", signed_before);
  put("signing.key", seed);
  std::filesystem::permissions(path("checkpoints.jsonl"), std::filesystem::perms(0600));
  std::filesystem::permissions(path("signing.key"), std::filesystem::perms(0600));
  EXPECT_FALSE(keep_up(again, std::vector<KeepBounds>{{.days = 1, .bytes = {}}}).has_value());
  EXPECT_EQ(days(), 4U);
}

TEST_F(Upkeep, WhatAnotherProcessRemovedIsNoError) {
  Log log = log_of(5);
  const auto verified = verify_oldest(place_, {"2025-11-07", "2025-11-08"});
  ASSERT_TRUE(verified.has_value() && *verified && (*verified)->holds());
  ASSERT_EQ((*verified)->days.size(), 2U);
  ASSERT_EQ(remove_days(log, (*verified)->days)->days.size(), 2U);
  const auto again = remove_days(log, (*verified)->days);
  ASSERT_TRUE(again.has_value()) << message(again.error());
  EXPECT_TRUE(again->days.empty());
  EXPECT_EQ(days(), 3U);
  expect_holds();
}

// Two runs end at once: the slower one must not take what is the oldest then.
TEST_F(Upkeep, RemovesOnlyTheDaysThatItHasListed) {
  Log slow = log_of(12);
  const std::vector<KeepBounds> keep{{.days = 7, .bytes = {}}};
  const auto listed = days_to_go(slow, keep);
  ASSERT_TRUE(listed.has_value()) << message(listed.error());
  ASSERT_EQ(listed->size(), 5U);
  EXPECT_EQ(listed->front(), "2025-11-07");
  Log quick = open(kBoot, MovedClock::wall);
  ASSERT_TRUE(remove_if_they_hold(quick, *listed).has_value());
  EXPECT_EQ(days(), 7U);
  const auto left = remove_if_they_hold(slow, *listed);
  EXPECT_TRUE(left.has_value()) << message(left.error());
  EXPECT_EQ(days(), 7U);
  EXPECT_TRUE(std::filesystem::exists(path("2025-11-12.jsonl")));
  // Those that are there are removed all the same, by the next one that lists them.
  expect_kept(slow, {{.days = 2, .bytes = {}}});
  EXPECT_EQ(days(), 2U);
  expect_holds();
}

TEST_F(Upkeep, AnotherThatRemovesMoreIsNoError) {
  Log slow = log_of(4);
  const auto listed = days_to_go(slow, std::vector<KeepBounds>{{.days = 2, .bytes = {}}});
  ASSERT_TRUE(listed.has_value() && listed->size() == 2);
  expect_kept(slow, {{.days = 1, .bytes = {}}});
  ASSERT_EQ(days(), 1U);
  const auto left = remove_if_they_hold(slow, *listed);
  EXPECT_TRUE(left.has_value()) << message(left.error());
  EXPECT_EQ(days(), 1U);
  expect_holds();
}

}  // namespace
}  // namespace cordon::audit
