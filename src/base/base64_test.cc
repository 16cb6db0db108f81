#include "base/base64.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(Base64, PadsAndTakesAnyByte) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64(std::string_view("\0\xff\x10", 3)), "AP8Q");
}

}  // namespace
}  // namespace cordon
