#include "faces/mcp/full/output.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace cordon::mcp {
namespace {

class OutputStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string place = (std::filesystem::temp_directory_path() / "cordon-store.XXXXXX").string();
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    directory_ = place;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

// What a reader sees who begins at `offset` and follows what it is given.
std::string follow(const OutputStore& store, std::uint64_t offset, std::uint64_t page) {
  std::string seen;
  for (;;) {
    const auto piece = store.read(offset, page);
    if (piece.bytes.empty()) return seen;
    if (piece.begin != offset) seen += "<" + std::to_string(piece.begin - offset) + ">";
    seen += piece.bytes;
    offset = piece.begin + piece.bytes.size();
  }
}

TEST_F(OutputStoreTest, KeepsTheBeginningAndTheEnd) {
  std::string all;
  for (int i = 0; i < 100; ++i) all += static_cast<char>('a' + i % 26);
  // However it is cut into writes.
  for (const std::size_t step : {1U, 3U, 7U, 16U, 40U, 100U}) {
    OutputStore store(directory_, {10, 16});
    std::string written;
    for (std::size_t at = 0; at < all.size(); at += step) {
      const std::string part = all.substr(at, step);
      store.add(part);
      written += part;
      ASSERT_EQ(store.bytes(), written.size());
      const std::string expected =
          written.size() <= 26 ? written
                               : written.substr(0, 10) + "<" + std::to_string(written.size() - 26) +
                                     ">" + written.substr(written.size() - 16);
      for (const std::uint64_t page : {1U, 5U, 64U}) {
        ASSERT_EQ(follow(store, 0, page), expected) << "step " << step << " page " << page;
      }
    }
  }
}

TEST_F(OutputStoreTest, APlaceThatIsGoneBecomesTheNextThatIsThere) {
  OutputStore store(directory_, {4, 4});
  store.add("0123456789abcdef");
  EXPECT_EQ(store.read(2, 100).bytes, "23");
  EXPECT_EQ(store.read(5, 100).begin, 12U);
  EXPECT_EQ(store.read(5, 100).bytes, "cdef");
  EXPECT_EQ(store.read(16, 100).bytes, "");
  EXPECT_EQ(store.read(1'000'000, 100).bytes, "");
}

TEST_F(OutputStoreTest, LeavesNoName) {
  OutputStore store(directory_, {});
  store.add("something");
  EXPECT_EQ(store.read(0, 100).bytes, "something");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(OutputStoreTest, CountsWhatItCannotKeep) {
  OutputStore store("/proc/no/such/place", {});
  store.add("something");
  EXPECT_EQ(store.bytes(), 9U);
  EXPECT_EQ(store.read(0, 100).bytes, "");
  EXPECT_EQ(store.read(0, 100).begin, 9U);  // a reader must not wait there for ever
}

TEST_F(OutputStoreTest, MayKeepNothingAtAll) {
  OutputStore store(directory_, {4, 0});
  store.add("0123456789");
  EXPECT_EQ(follow(store, 0, 100), "0123");
}

}  // namespace
}  // namespace cordon::mcp
