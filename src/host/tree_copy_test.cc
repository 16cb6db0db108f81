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
  CopyBudget budget;
  tree.file("from/d/file", "content");
  tree.link("from/d/link", "/etc/passwd");
  ASSERT_EQ(::mkfifo(tree.at("from/d/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(tree.at("from/d/file").c_str(), 04755), 0);
  tree.directory("to");
  const Fd from(::open(tree.at("from").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(move_by_copy(from.get(), "d", to.get(), "e", budget), 0);
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
  CopyBudget budget;
  tree.file("a", "1");
  tree.file("b", "2");
  const Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(move_by_copy(at.get(), "a", at.get(), "b", budget), EEXIST);
  EXPECT_EQ(tree.read("a"), "1");
  EXPECT_EQ(tree.read("b"), "2");
}

TEST(MoveByCopy, LeavesNothingOfATreeThatIsTooDeep) {
  const TestTree tree;
  CopyBudget budget;
  std::string deep = "d";
  for (int i = 0; i < 200; ++i) deep += "/d";
  tree.directory(deep);
  tree.directory("to");
  const Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(move_by_copy(at.get(), "d", to.get(), "d", budget), ELOOP);
  EXPECT_TRUE(tree.exists(deep));
  EXPECT_FALSE(tree.exists("to/d"));
}

TEST(MoveByCopy, KeepsHoles) {
  const TestTree tree;
  tree.file("from/big", "head");
  constexpr off_t kEnd = off_t{1} << 40;
  const Fd big(::open(tree.at("from/big").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(big.get(), "tail", 4, kEnd), 4);
  tree.directory("to");
  const Fd from(::open(tree.at("from").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CopyBudget budget;
  ASSERT_EQ(move_by_copy(from.get(), "big", to.get(), "big", budget), 0);
  struct stat status {};
  ASSERT_EQ(::stat(tree.at("to/big").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, kEnd + 4);
  EXPECT_LT(status.st_blocks, 1024);
  std::string tail(4, ' ');
  const Fd copy(::open(tree.at("to/big").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::pread(copy.get(), tail.data(), 4, kEnd), 4);
  EXPECT_EQ(tail, "tail");
}

TEST(MoveByCopy, StopsAtItsBoundAndLeavesEverythingAsItWas) {
  const TestTree tree;
  tree.file("from/d/one", std::string(1000, 'x'));
  tree.file("from/d/two", std::string(1000, 'x'));
  tree.directory("to");
  const Fd from(::open(tree.at("from").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CopyBudget bytes{1500, 100};
  EXPECT_EQ(move_by_copy(from.get(), "d", to.get(), "d", bytes), EFBIG);
  EXPECT_EQ(bytes.bytes, 1500U);
  CopyBudget objects{1 << 20, 2};
  EXPECT_EQ(move_by_copy(from.get(), "d", to.get(), "d", objects), EFBIG);
  EXPECT_FALSE(tree.exists("to/d"));
  EXPECT_TRUE(tree.exists("from/d/one"));
  CopyBudget enough{2000, 3};
  EXPECT_EQ(move_by_copy(from.get(), "d", to.get(), "d", enough), 0);
  EXPECT_EQ(enough.bytes, 0U);
}

}  // namespace
}  // namespace cordon
