#include "host/walk.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "base/path.h"
#include "host/inspect.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using testing::TestTree;
using ::testing::UnorderedElementsAre;

class Collector : public TreeVisitor {
 public:
  void visit(WalkedDirectory& directory) override {
    ++directories;
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.type == EntryType::Directory)
        directory.descend(entry, directory.state() + 1);
      else
        found.push_back(join(directory.path(), entry.name));
      deepest = std::max(deepest, directory.state());
    }
  }
  std::vector<std::string> found;
  std::size_t directories = 0;
  unsigned deepest = 0;
};

TEST(WalkTree, VisitsEveryFileAndFollowsNoSymlink) {
  const TestTree tree;
  tree.file("a/one");
  tree.file("a/b/two");
  tree.file("outside/three");
  tree.link("a/link", "../outside");
  Collector collector;
  ASSERT_TRUE(walk_tree(tree.at("a"), 0, collector));
  EXPECT_THAT(collector.found,
              UnorderedElementsAre(tree.at("a/one"), tree.at("a/b/two"), tree.at("a/link")));
}

class Portions final : public Collector {
 public:
  void visit(WalkedDirectory& directory) override {
    if (!directory.whole()) ++parts;
    Collector::visit(directory);
  }
  std::size_t parts = 0;
};

TEST(WalkTree, ShowsALargeDirectoryInPortions) {
  const TestTree tree;
  tree.directory("d/sub");
  const Fd at(::open(tree.at("d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr std::size_t kMany = 70'000;
  for (std::size_t i = 0; i < kMany; ++i)
    ASSERT_EQ(::mknodat(at.get(), std::to_string(i).c_str(), S_IFREG | 0600, 0), 0);
  tree.file("d/sub/below");
  Portions portions;
  ASSERT_TRUE(walk_tree(tree.at("d"), 0, portions));
  EXPECT_EQ(portions.parts, 2U);
  EXPECT_EQ(portions.found.size(), kMany + 1);
}

TEST(WalkTree, GoesThroughADescriptorWhateverItsNameIs) {
  const TestTree tree;
  tree.file("a/b/one");
  const Fd at(::open(tree.at("a").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::filesystem::rename(tree.at("a"), tree.at("c"));
  tree.file("a/two");
  Collector collector;
  ASSERT_TRUE(walk_tree(at.get(), tree.at("c"), 0, collector));
  EXPECT_THAT(collector.found, UnorderedElementsAre(tree.at("c/b/one")));
}

// FS36: no depth limit, also where the path is longer than the system allows.
TEST(WalkTree, ReachesTheBottomOfADeepTree) {
  const TestTree tree;
  const std::string name(250, 'd');
  Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr unsigned kDepth = 300;
  for (unsigned i = 0; i < kDepth; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    // A second directory at each level, so that the walk has to come back up.
    ASSERT_EQ(::mkdirat(at.get(), "e", 0755), 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  const Fd file(::openat(at.get(), "bottom", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Collector collector;
  const Result<void> walked = walk_tree(tree.root(), 0, collector);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(walked);
  ASSERT_EQ(collector.found.size(), 1U);
  EXPECT_TRUE(collector.found[0].ends_with("/bottom"));
  EXPECT_GT(collector.found[0].size(), kDepth * 250);
  EXPECT_EQ(collector.directories, 1 + 2 * kDepth);
  EXPECT_EQ(collector.deepest, kDepth);
}

TEST(WalkTree, PassesOverWhatItMayNotRead) {
  const TestTree tree;
  tree.file("open/file");
  tree.file("closed/file");
  ASSERT_EQ(::chmod(tree.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(tree.at("closed").c_str(), 0), 0);
  Collector collector;
  {
    const testing::OrdinaryUser ordinary;
    ASSERT_TRUE(walk_tree(tree.root(), 0, collector));
  }
  EXPECT_THAT(collector.found, UnorderedElementsAre(tree.at("open/file")));
  ASSERT_EQ(::chmod(tree.at("closed").c_str(), 0755), 0);
}

TEST(OpenBeneath, NeverLeavesItsDirectory) {
  const TestTree tree;
  tree.file("in/file");
  tree.file("out");
  tree.link("in/link", "file");
  tree.link("in/up", "..");
  const Fd in(::open(tree.at("in").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(open_beneath(in.get(), "file", O_RDONLY).valid());
  EXPECT_FALSE(open_beneath(in.get(), "link", O_RDONLY).valid());
  EXPECT_FALSE(open_beneath(in.get(), "up/out", O_RDONLY).valid());
  EXPECT_FALSE(open_beneath(in.get(), "../out", O_RDONLY).valid());
}

// FS42.
TEST(ReadRegular, TakesNeitherAFifoNorALink) {
  const TestTree tree;
  tree.file("plain", "content");
  tree.link("link", "plain");
  ASSERT_EQ(::mkfifo(tree.at("fifo").c_str(), 0600), 0);
  const Fd at(::open(tree.root().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(read_regular(at.get(), "plain", 100), "content");
  EXPECT_FALSE(read_regular(at.get(), "plain", 3));
  EXPECT_FALSE(read_regular(at.get(), "link", 100));
  EXPECT_FALSE(read_regular(at.get(), "fifo", 100));
}

}  // namespace
}  // namespace cordon
