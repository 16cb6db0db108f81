#include "host/tree_copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using testing::TestTree;

TEST(MoveByCopy, CopiesATreeAndRemovesTheSource) {
  const TestTree tree;
  tree.file("from/d/file", "content");
  tree.link("from/d/link", "/etc/passwd");
  ASSERT_EQ(::mkfifo(tree.at("from/d/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(tree.at("from/d/file").c_str(), 04755), 0);
  tree.directory("to");
  const Fd from(::open(tree.at("from").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(move_by_copy(from.get(), "d", to.get(), "e"), 0);
  EXPECT_FALSE(tree.exists("from/d"));
  EXPECT_EQ(tree.read("to/e/file"), "content");
  EXPECT_EQ(std::filesystem::read_symlink(tree.at("to/e/link")), "/etc/passwd");
  EXPECT_FALSE(tree.exists("to/e/fifo"));
  struct stat status {};
  ASSERT_EQ(::stat(tree.at("to/e/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
}

TEST(MoveByCopy, LeavesTheSourceIfTheDestinationIsTaken) {
  const TestTree tree;
  tree.file("a", "1");
  tree.file("b", "2");
  const Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(move_by_copy(at.get(), "a", at.get(), "b"), EEXIST);
  EXPECT_EQ(tree.read("a"), "1");
  EXPECT_EQ(tree.read("b"), "2");
}

TEST(MoveByCopy, LeavesNothingOfATreeThatIsTooDeep) {
  const TestTree tree;
  std::string deep = "d";
  for (int i = 0; i < 200; ++i) deep += "/d";
  tree.directory(deep);
  tree.directory("to");
  const Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(move_by_copy(at.get(), "d", to.get(), "d"), ELOOP);
  EXPECT_TRUE(tree.exists(deep));
  EXPECT_FALSE(tree.exists("to/d"));
}

}  // namespace
}  // namespace cordon
