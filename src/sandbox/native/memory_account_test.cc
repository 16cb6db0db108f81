#include "sandbox/native/cgroup.h"

#include <gtest/gtest.h>

namespace cordon::native {
namespace {

// As Linux 6.1 writes it; 5.x lacks the last line.
std::string events(std::uint64_t max, std::uint64_t oom, std::uint64_t killed,
                   std::uint64_t groups) {
  return "low 0\nhigh 0\nmax " + std::to_string(max) + "\noom " + std::to_string(oom) +
         "\noom_kill " + std::to_string(killed) + "\noom_group_kill " + std::to_string(groups) +
         "\n";
}

std::string control(std::uint64_t killed) {
  return "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(killed) + "\n";
}

TEST(MemoryAccount, AChangeIsNotAKill) {
  EXPECT_EQ(account_of_events("").kill(), MemoryKill::None);
  EXPECT_EQ(account_of_events(events(0, 0, 0, 0)).kill(), MemoryKill::None);
  // Reclaiming made room each time.
  EXPECT_EQ(account_of_events(events(41, 0, 0, 0)).kill(), MemoryKill::None);
  // An allocation failed, and its program was told ENOMEM.
  EXPECT_EQ(account_of_events(events(41, 3, 0, 0)).kill(), MemoryKill::None);
}

TEST(MemoryAccount, AKillAtTheOwnBoundIsTheRunsLimit) {
  const MemoryAccount account = account_of_events(events(41, 1, 5, 1));
  EXPECT_EQ(account.kill(), MemoryKill::AtOwnBound);
  const auto denial = memory_denial(account, "memory 64M");
  ASSERT_TRUE(denial);
  EXPECT_EQ(denial->what, "memory");
  EXPECT_EQ(denial->detail, "killed at memory 64M");
  EXPECT_EQ(denial->layer, "cgroup");
  EXPECT_EQ(denial->count, 5U);
}

TEST(MemoryAccount, AKillByAGroupAboveIsNotTheRunsLimit) {
  // The kernel counts the kill in the victim's group, and the want of memory where the limit is.
  const MemoryAccount account = account_of_events(events(0, 0, 2, 1));
  EXPECT_EQ(account.kill(), MemoryKill::FromOutside);
  const auto denial = memory_denial(account, "memory 64M");
  ASSERT_TRUE(denial);
  EXPECT_EQ(denial->layer, "host");
  EXPECT_EQ(denial->detail.find("64M"), std::string::npos);
  EXPECT_FALSE(memory_denial({}, "memory 64M"));
}

TEST(MemoryAccount, NamesAreWholeWords) {
  EXPECT_EQ(keyed_number("oom_kill 3\noom 7\n", "oom"), 7U);
  EXPECT_EQ(keyed_number("oom_kill 3\n", "oom"), 0U);
  EXPECT_EQ(keyed_number("oom", "oom"), 0U);
  EXPECT_EQ(keyed_number("oom x\n", "oom"), 0U);
}

TEST(MemoryAccount, V1KnowsItsOwnBoundByHowMuchWasUsed) {
  const std::string limit = "67108864\n";
  EXPECT_EQ(account_of_oom_control(control(0), limit, limit, "").kill(), MemoryKill::None);
  EXPECT_EQ(account_of_oom_control(control(1), limit, limit, "").kill(), MemoryKill::AtOwnBound);
  // Two pages were left, and four were wanted.
  EXPECT_EQ(account_of_oom_control(control(1), limit, "67100672\n", "").kill(),
            MemoryKill::AtOwnBound);
  // Half of it lies in the swap.
  EXPECT_EQ(account_of_oom_control(control(1), limit, "33554432\n", limit).kill(),
            MemoryKill::AtOwnBound);
  EXPECT_EQ(account_of_oom_control(control(1), limit, "33554432\n", "33554432\n").kill(),
            MemoryKill::FromOutside);
}

}  // namespace
}  // namespace cordon::native
