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
  PathTrace trace;
  for (const PassedPlace* place : trace.to(tree.at(path)).passed) {
    if (place->path != top && contains(top, place->path))
      below.push_back(place->path.substr(top.size() + 1));
  }
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

// The way to the directory is walked once for both.
TEST(PathTrace, TellsOfTwoNamesOfADirectoryWhatItTellsOfOne) {
  const TestTree tree;
  tree.directory("real/deep");
  tree.directory("real/deeper");
  tree.link("link", "real");
  tree.link("real/back", "../link/deep");
  PathTrace trace;
  for (const char* name : {"link/deep", "link/deeper", "link/absent", "link/..", "link/back",
                           "absent/a", "absent/b", "link/deep/x"}) {
    const TracedPath again = trace.to(tree.at(name));
    PathTrace fresh;
    const TracedPath once = fresh.to(tree.at(name));
    EXPECT_EQ(again.end, once.end) << name;
    EXPECT_EQ(again.missing, once.missing) << name;
    EXPECT_EQ(again.links, once.links) << name;
    ASSERT_EQ(again.passed.size(), once.passed.size()) << name;
    for (std::size_t i = 0; i < once.passed.size(); ++i)
      EXPECT_EQ(again.passed[i]->path, once.passed[i]->path) << name;
  }
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
