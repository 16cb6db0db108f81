#include "faces/mcp/full/output.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

TEST(Cursors, AreGoodForTheirQuestionAlone) {
  const Cursors cursors;
  const Cursors::Place place{7, 1'000'000'000'000};
  const std::string cursor = cursors.make("read x", place);
  EXPECT_EQ(cursors.read("read x", cursor), place);
  EXPECT_FALSE(cursors.read("read y", cursor));
  EXPECT_FALSE(Cursors().read("read x", cursor));
}

TEST(Cursors, CannotBeMadeUp) {
  const Cursors cursors;
  const std::string cursor = cursors.make("s", {7, 0});
  for (std::size_t i = 0; i < cursor.size(); ++i) {
    std::string changed = cursor;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_FALSE(cursors.read("s", changed)) << changed;
  }
  for (const std::string& wrong : {std::string(), std::string("0-0-"), "0" + cursor, cursor + "-",
                                   std::string("--"), std::string("7-0")}) {
    EXPECT_FALSE(cursors.read("s", wrong)) << wrong;
  }
}

}  // namespace
}  // namespace cordon::mcp
