#include "run/capture.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace cordon {
namespace {

TEST(Capture, KeepsEverythingUpToItsLimit) {
  Capture capture(8);
  capture.add("abc");
  capture.add("defgh");
  const Stream stream = capture.take();
  EXPECT_EQ(stream.head + stream.tail, "abcdefgh");
  EXPECT_FALSE(stream.truncated());
}

TEST(Capture, KeepsHeadAndTailOfAFlood) {
  Capture capture(8);
  for (int i = 0; i < 100'000; ++i) capture.add("0123456789");
  const Stream stream = capture.take();
  EXPECT_EQ(stream.head, "0123");
  EXPECT_EQ(stream.tail, "6789");
  EXPECT_EQ(stream.bytes, 1'000'000U);
  EXPECT_TRUE(stream.truncated());
}

TEST(Capture, AgreesWithKeepingEverythingAndCutting) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& parts, std::uint8_t raw_limit) {
    const std::size_t limit = raw_limit % 40;
    Capture capture(limit);
    std::string all;
    for (const std::string& part : parts) {
      capture.add(part);
      all += part;
    }
    const Stream stream = capture.take();
    const std::size_t head = std::min(all.size(), limit - limit / 2);
    const std::size_t tail = std::min(all.size() - head, limit / 2);
    RC_ASSERT(stream.head == all.substr(0, head));
    RC_ASSERT(stream.tail == all.substr(all.size() - tail));
    RC_ASSERT(stream.bytes == all.size());
  }));
}

}  // namespace
}  // namespace cordon
