#include "faces/mcp/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace cordon::mcp {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{30'000};

TEST(WorkerPool, RunsNoMoreAtOnceThanItHasThreads) {
  WorkerPool pool(3, 100);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::promise<void> all;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(pool.submit([&] {
      const int here = ++now;
      int seen = most;
      while (here > seen && !most.compare_exchange_weak(seen, here)) {
      }
      std::this_thread::yield();
      --now;
      if (++done == 50) all.set_value();
    }));
  }
  ASSERT_EQ(all.get_future().wait_for(kLong), std::future_status::ready);
  EXPECT_LE(most, 3);
}

TEST(WorkerPool, RefusesWhatDoesNotFitAndStopsWithoutBeginningMore) {
  WorkerPool pool(1, 1);
  std::promise<void> begun;
  std::promise<void> release;
  ASSERT_TRUE(pool.submit([&] {
    begun.set_value();
    release.get_future().wait();
  }));
  begun.get_future().wait();
  std::atomic<bool> second = false;
  EXPECT_TRUE(pool.submit([&] { second = true; }));
  EXPECT_FALSE(pool.submit([] {}));
  EXPECT_FALSE(pool.stop(milliseconds(1)));
  release.set_value();
  EXPECT_TRUE(pool.stop(kLong));
  EXPECT_FALSE(second);
  EXPECT_FALSE(pool.submit([] {}));
}

}  // namespace
}  // namespace cordon::mcp
