#include "plan/tree.h"

#include <gmock/gmock.h>

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TreeOperations : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const Op& operation : operations_) lines.push_back(describe(operation));
    return lines;
  }
  std::vector<Op> operations_;
  Tree tree_{operations_};
};

TEST_F(TreeOperations, MakeParentsBeforeChildrenAndEachOnce) {
  tree_.directory("/a/b");
  tree_.file("/a/b/c", "text");
  tree_.directory("/a");
  EXPECT_THAT(told(),
              ElementsAre("directory /a 0755", "directory /a/b 0755", "file /a/b/c 0444, 4 bytes"));
}

TEST_F(TreeOperations, NeverMakeTheRoot) {
  tree_.directory("/");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(tree_.exists("/"));
}

TEST_F(TreeOperations, MakeTheMountPointOfABindByItsKind) {
  tree_.bind("/opt/x", "/opt/x", MountAccess::ReadOnly, FileKind::Directory, {});
  tree_.bind("/etc/hosts", "/etc/hosts", MountAccess::ReadOnly, FileKind::Regular, {});
  EXPECT_THAT(told(), ElementsAre("directory /opt 0755", "directory /opt/x 0755",
                                  "bind read-only /opt/x", "directory /etc 0755",
                                  "file /etc/hosts 0444, 0 bytes", "bind read-only /etc/hosts"));
}

TEST_F(TreeOperations, MakeNothingBelowABoundHostDirectory) {
  tree_.bind("/srv", "/srv", MountAccess::ReadWrite, FileKind::Directory, {});
  operations_.clear();
  tree_.directory("/srv/below");
  tree_.file("/srv/file", {});
  tree_.symlink("/srv/link", "x");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(tree_.exists("/srv/any/where"));
  EXPECT_FALSE(tree_.exists("/srvx"));
}

TEST_F(TreeOperations, MakeFreelyBelowAScratchDirectoryInsideABoundOne) {
  tree_.bind("/home", "/home", MountAccess::ReadOnly, FileKind::Directory, {});
  tree_.scratch("home", "/home/alex", 0700);
  operations_.clear();
  EXPECT_FALSE(tree_.exists("/home/alex/project"));
  tree_.directory("/home/alex/project");
  EXPECT_THAT(told(), ElementsAre("directory /home/alex/project 0755"));
}

TEST_F(TreeOperations, KeepWhatWasMadeFirst) {
  tree_.symlink("/bin", "usr/bin");
  tree_.file("/bin", "another");
  tree_.symlink("/bin", "elsewhere");
  EXPECT_THAT(told(), ElementsAre("symlink /bin to usr/bin"));
}

}  // namespace
}  // namespace cordon
