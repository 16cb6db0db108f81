#include "host/inspect.h"

#include <gmock/gmock.h>

#include "base/path.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TestTree;

// What is passed below the top of the tree, without it.
std::vector<std::string> passed(const TestTree& tree, const std::string& path) {
  const std::string top(parent(tree.at("x")));
  std::vector<std::string> below;
  const TracedPath way = PathTrace().to(tree.at(path));
  for (const std::string& place : way.passed)
    if (place != top && contains(top, place)) below.push_back(place.substr(top.size() + 1));
  return below;
}

TEST(PathTrace, NamesEveryDirectoryAndTheEnd) {
  const TestTree tree;
  tree.directory("a/b/c");
  EXPECT_THAT(passed(tree, "a/b/c"), ElementsAre("a", "a/b", "a/b/c"));
  EXPECT_THAT(passed(tree, "a//b/./"), ElementsAre("a", "a/b"));
}

TEST(PathTrace, NamesALinkAndWhatItLeadsThrough) {
  const TestTree tree;
  tree.directory("real/deep/end");
  tree.directory("a");
  tree.link("a/link", "../real/deep");
  EXPECT_THAT(passed(tree, "a/link/end"),
              ElementsAre("a", "a/link", "real", "real/deep", "real/deep/end"));
  tree.link("outer", tree.at("a/link"));
  EXPECT_THAT(passed(tree, "outer/../x"), ElementsAre("outer", "a", "a/link", "real", "real/deep"));
}

TEST(PathTrace, TellsWhereItLeadsOnlyWhenItIsThere) {
  const TestTree tree;
  tree.directory("real/deep");
  tree.link("link", "real");
  tree.link("loop", "loop");
  EXPECT_EQ(PathTrace().to(tree.at("link/deep")).end, tree.at("real/deep"));
  EXPECT_EQ(PathTrace().to(tree.at("link/deep/..")).end, tree.at("real"));
  EXPECT_EQ(PathTrace().to("/").end, "/");
  EXPECT_EQ(PathTrace().to(tree.at("link/absent")).end, "");
  EXPECT_EQ(PathTrace().to("/nowhere at all").end, "");
  EXPECT_EQ(PathTrace().to(tree.at("loop")).end, "");
}

TEST(PathTrace, StopsWhereNothingIsAndInALoop) {
  const TestTree tree;
  tree.directory("a");
  EXPECT_THAT(passed(tree, "a/absent/b"), ElementsAre("a"));
  EXPECT_THAT(passed(tree, "absent"), IsEmpty());
  tree.link("loop", "loop");
  EXPECT_THAT(passed(tree, "loop/x"), SizeIs(Gt(1U)));
}

}  // namespace
}  // namespace cordon
