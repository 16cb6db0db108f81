#include "base/path.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Path, ContainsByWholeComponents) {
  EXPECT_TRUE(contains("/tmp", "/tmp"));
  EXPECT_TRUE(contains("/tmp", "/tmp/run-42/out"));
  EXPECT_TRUE(contains("/", "/tmp"));
  EXPECT_TRUE(contains("/", "/"));
  EXPECT_FALSE(contains("/tmp", "/tmpx"));
  EXPECT_FALSE(contains("/tmp", "/"));
  EXPECT_FALSE(contains("/tmp/a", "/tmp"));
}

TEST(Path, NormalizesSpellingsButLeavesDotdotToTheFileSystem) {
  EXPECT_EQ(normalize(""), "/");
  EXPECT_EQ(normalize("/"), "/");
  EXPECT_EQ(normalize("//a///b/./c/"), "/a/b/c");
  EXPECT_EQ(normalize("/a/../b"), "/a/../b");
  EXPECT_EQ(normalize("/./"), "/");
  EXPECT_EQ(normalize("/..."), "/...");
}

TEST(Path, FindsDotdotOnlyAsAComponent) {
  EXPECT_TRUE(has_dotdot("a/../b"));
  EXPECT_TRUE(has_dotdot(".."));
  EXPECT_FALSE(has_dotdot("a..b/...c"));
}

TEST(Path, JoinsWithOneSeparator) {
  EXPECT_EQ(join("/", "a"), "/a");
  EXPECT_EQ(join("/x", "a/b"), "/x/a/b");
  EXPECT_EQ(join("/x/", "/a"), "/x/a");
  EXPECT_EQ(join("/x", ""), "/x");
  EXPECT_EQ(join("", "a"), "a");
}

TEST(Path, TakesPathsApart) {
  EXPECT_EQ(parent("/"), "/");
  EXPECT_EQ(parent("/a"), "/");
  EXPECT_EQ(parent("/a/b"), "/a");
  EXPECT_EQ(basename("/"), "");
  EXPECT_EQ(basename("/a/b"), "b");
  EXPECT_EQ(basename("b"), "b");
  EXPECT_EQ(components("/a/b"), (Parts{"a", "b"}));
  EXPECT_EQ(components("/"), Parts{});
}

}  // namespace
}  // namespace cordon
