#include "host/git/attributes.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(FiltersIn, AreTheNamesBehindAPattern) {
  EXPECT_EQ(filters_in("*.bin filter=lfs diff=lfs merge=lfs -text\n"
                       "# *.x filter=comment\n"
                       "*.ipynb\tfilter=nbstripout\r\n"
                       "filter=pattern text\n"
                       "*.y -filter\n*.z filter=\n*.bin filter=lfs\n"),
            (std::vector<std::string>{"lfs", "nbstripout"}));
  EXPECT_EQ(filters_in(""), std::vector<std::string>{});
}

}  // namespace
}  // namespace cordon
