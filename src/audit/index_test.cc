#include "audit/index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "audit/test_log.h"

namespace cordon::audit {
namespace {

class IndexOfLog : public TestLog {
 protected:
  [[nodiscard]] std::size_t events(const Index& index) const {
    const auto found = index.list({});
    EXPECT_TRUE(found.has_value());
    return found ? found->size() : 0;
  }
  // Whether the index that was opened by its name is there still, and no other one.
  static bool is_there(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && status.st_nlink == 1;
  }
  // So many that an update tells its progress within them.
  static void fill(Log& log) {
    constexpr int kNotes = 4200;
    Chain& chain = log.chain();
    auto locked = chain.lock(chain.clock().wall_us());
    ASSERT_TRUE(locked.has_value());
    for (int i = 0; i < kNotes; ++i) {
      const auto body = chain.note("test", Node(NodeMap{}));
      ASSERT_TRUE(body.has_value());
      ASSERT_TRUE(locked->append(*body, Durability::Later).has_value());
    }
  }
};

// A run that ends while a question is answered removes days that nobody keeps.
TEST_F(IndexOfLog, ADayThatVanishesMeanwhileDoesNotCostTheIndex) {
  Log log = open();
  run(log);
  ASSERT_TRUE(Index::open(place_, {}).has_value());
  const Fd before(::open(path("index.sqlite").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(before.valid());
  fill(log);
  for (int day = 1; day < 3; ++day) {
    MovedClock::wall = kNoon + day * kDay;
    run(log);
  }
  bool removed = false;
  const auto index = Index::open(place_, [&](std::uint64_t, std::uint64_t) {
    removed = std::filesystem::remove(path("2025-11-08.jsonl")) || removed;
  });
  ASSERT_TRUE(index.has_value()) << message(index.error());
  ASSERT_TRUE(removed);
  EXPECT_TRUE(is_there(before.get()));
  // The first day's and the last one's.
  EXPECT_EQ(events(*index), 2U);
}

// Somebody doubled lines, which verify tells: what was asked before can still be asked.
TEST_F(IndexOfLog, AnActionThatStandsThereTwiceIsOne) {
  Log log = open();
  run(log);
  run(log);
  const auto open_one = log.begin(a_run(log));
  ASSERT_TRUE(open_one.has_value());
  const std::string day = "2025-11-07.jsonl";
  const std::string bytes = read(day);
  put(day, bytes + bytes);
  const auto index = Index::open(place_, {});
  ASSERT_TRUE(index.has_value()) << message(index.error());
  const auto found = index->list({});
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 3U);
  EXPECT_EQ((*found)[0].outcome, "pending");
  EXPECT_EQ((*found)[1].outcome, "success");
  EXPECT_EQ((*found)[2].outcome, "success");
}

// The end of an action is found although the index was brought up to date between the two.
TEST_F(IndexOfLog, AnActionEndsInALaterUpdate) {
  Log log = open();
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  ASSERT_TRUE(Index::open(place_, {}).has_value());
  Closing closing;
  closing.ending = Ending::Success;
  ASSERT_TRUE(log.close(*receipt, closing).has_value());
  const auto index = Index::open(place_, {});
  ASSERT_TRUE(index.has_value());
  const auto found = index->list({});
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].outcome, "success");
  const auto lines = index->lines((*found)[0]);
  ASSERT_TRUE(lines.has_value());
  EXPECT_TRUE(lines->pending.find("\"phase\":\"pending\"") != std::string::npos);
  EXPECT_TRUE(lines->closing.find("\"phase\":\"closing\"") != std::string::npos);
}

}  // namespace
}  // namespace cordon::audit
