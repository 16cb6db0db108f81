#include "host/tree_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TEST(TreeRemoval, LeavesNothingOfWhatWasMadeToStopIt) {
  const testing::TestTree tree;
  const std::string top = tree.at("private");
  tree.directory("private/home/closed/inner");
  tree.file("private/home/closed/inner/file", "x");
  tree.file("private/tmp/raised-0", "x");
  tree.directory("private/raised-0/raised-1");
  ASSERT_EQ(::chmod((top + "/home/closed/inner").c_str(), 0), 0);
  ASSERT_EQ(::chmod((top + "/home/closed").c_str(), 0), 0);
  EXPECT_TRUE(remove_private_tree(top));
  EXPECT_FALSE(exists(top));
}

TEST(TreeRemoval, FollowsNoSymlink) {
  const testing::TestTree tree;
  tree.file("kept/file", "x");
  tree.directory("private/home");
  const std::string kept = tree.at("kept");
  ASSERT_EQ(::symlink(kept.c_str(), tree.at("private/home/link").c_str()), 0);
  EXPECT_TRUE(remove_private_tree(tree.at("private")));
  EXPECT_TRUE(exists(kept + "/file"));
  ASSERT_EQ(::symlink(kept.c_str(), tree.at("private").c_str()), 0);
  EXPECT_FALSE(remove_private_tree(tree.at("private")));
  EXPECT_TRUE(exists(kept + "/file"));
}

TEST(TreeRemoval, TakesATreeDeeperThanAnyPath) {
  const testing::TestTree tree;
  tree.directory("private");
  Fd at(::open(tree.at("private").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'd');
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  EXPECT_TRUE(remove_private_tree(tree.at("private")));
  EXPECT_FALSE(exists(tree.at("private")));
}

TEST(TreeRemoval, IsContentWithNothing) {
  const testing::TestTree tree;
  EXPECT_TRUE(remove_private_tree(tree.at("absent")));
}

}  // namespace
}  // namespace cordon
