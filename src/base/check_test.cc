#include "base/check.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(CheckDeathTest, EndsTheProcessAndNamesTheBrokenInvariant) {
  EXPECT_DEATH(CORDON_ASSERT(1 + 1 == 3), "check_test.cc:[0-9]+: 1 \\+ 1 == 3");
}

TEST(Check, LetsAnInvariantThatHoldsPass) {
  CORDON_ASSERT(1 + 1 == 2);
  SUCCEED();
}

}  // namespace
}  // namespace cordon
