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

}  // namespace
}  // namespace cordon::audit
