#include "host/snapshot.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(Snapshot, IsReadBackAsItWasWritten) {
  TreeSnapshot snapshot;
  snapshot.protected_objects = {{1, 2}, {3, 4}};
  snapshot.unmade = {"/a path: with a colon"};
  snapshot.loose_objects[{5, 6}] = {FileKind::Other, 7};
  snapshot.loose_objects[{5, 8}] = {FileKind::Regular, 9};
  snapshot.loose_objects[{5, 9}] = {FileKind::Directory, 10};
  snapshot.git_directories = {"/w/.git", "/a:b/.git"};
  const TreeSnapshot again = read_snapshot(write_snapshot(snapshot));
  EXPECT_EQ(again.protected_objects, snapshot.protected_objects);
  EXPECT_EQ(again.unmade, snapshot.unmade);
  EXPECT_EQ(again.loose_objects, snapshot.loose_objects);
  EXPECT_EQ(again.git_directories, snapshot.git_directories);
  const std::vector<std::string> odd = {"", "held:", "held:x:1", "loose:1:2", "other:1:2"};
  EXPECT_TRUE(read_snapshot(odd).protected_objects.empty());
}

}  // namespace
}  // namespace cordon
