#include "host/snapshot.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(Snapshot, IsReadBackAsItWasWritten) {
  TreeSnapshot snapshot;
  snapshot.protected_objects.insert({1, 2}, 77);
  snapshot.protected_objects.insert(FileId{3, 4});
  snapshot.closed.insert({3, 5}, 78);
  snapshot.git_settings = {"0123abcd"};
  snapshot.began_ns = 1'700'000'000'000'000'000;
  snapshot.unmade = {"/a path: with a colon"};
  snapshot.led = {"/p/.vscode/a: b"};
  snapshot.loose_objects[{5, 6}] = {FileKind::Other, 7};
  snapshot.loose_objects[{5, 8}] = {FileKind::Regular, 9};
  snapshot.loose_objects[{5, 9}] = {FileKind::Directory, 10};
  const TreeSnapshot again = read_snapshot(write_snapshot(snapshot));
  EXPECT_EQ(again.protected_objects, snapshot.protected_objects);
  EXPECT_EQ(again.unmade, snapshot.unmade);
  EXPECT_EQ(again.led, snapshot.led);
  EXPECT_EQ(again.loose_objects, snapshot.loose_objects);
  EXPECT_EQ(again.closed, snapshot.closed);
  EXPECT_EQ(again.git_settings, snapshot.git_settings);
  EXPECT_EQ(again.began_ns, snapshot.began_ns);
  const std::vector<std::string> odd = {"", "held:", "held:x:1", "loose:1:2", "other:1:2"};
  EXPECT_EQ(read_snapshot(odd).protected_objects.size(), 0U);
}

TEST(ObjectSet, KnowsAnObjectByMoreThanItsNumber) {
  FileInfo file;
  file.kind = FileKind::Regular;
  file.id = {1, 2};
  file.born_ns = 5;
  file.changed_ns = 6;
  ObjectSet objects;
  objects.insert(file);
  EXPECT_TRUE(objects.contains(file));
  FileInfo changed = file;
  changed.changed_ns = 9;
  EXPECT_TRUE(objects.contains(changed)) << "its owner may write it";
  FileInfo reused = file;
  reused.born_ns = 8;
  EXPECT_FALSE(objects.contains(reused));
}

TEST(ObjectSet, FallsBackToTheChangeTimeOfAFileThatHasNoBirth) {
  FileInfo file;
  file.kind = FileKind::Regular;
  file.id = {1, 2};
  file.changed_ns = 6;
  ObjectSet objects;
  objects.insert(file);
  EXPECT_TRUE(objects.contains(file));
  file.changed_ns = 7;
  EXPECT_FALSE(objects.contains(file));
  FileInfo directory;
  directory.kind = FileKind::Directory;
  directory.id = {1, 3};
  directory.changed_ns = 6;
  objects.insert(directory);
  directory.changed_ns = 7;
  EXPECT_TRUE(objects.contains(directory)) << "every name in it changes that time";
}

}  // namespace
}  // namespace cordon
