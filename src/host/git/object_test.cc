#include "host/git/object.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cordon {
namespace {

std::string raw_id(const std::string& id) {
  std::string bytes;
  for (std::size_t i = 0; i < id.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// A tree of names, each with a mode and an id; returns its own id.
std::string add_tree(GitObjects& objects,
                     const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string content;
  for (const auto& [head, id] : entries) content += head + std::string(1, '\0') + raw_id(id);
  const std::string id = git_object_id(GitHash::Sha1, "tree", content);
  EXPECT_TRUE(objects.add(id, "tree", content));
  return id;
}

const std::string kX(40, '1');
const std::string kY(40, '2');

std::vector<std::string> paths_of(const std::optional<std::vector<GitTreeChange>>& changes) {
  if (!changes) return {"none"};
  std::vector<std::string> paths;
  for (const GitTreeChange& change : *changes) paths.push_back(change.path);
  return paths;
}

TEST(GitObjects, BelievesNothingButHashes) {
  GitObjects objects;
  const std::string id = git_object_id(GitHash::Sha1, "blob", "text");
  EXPECT_FALSE(objects.add(id, "blob", "other"));
  EXPECT_FALSE(objects.add(kX, "blob", "text"));
  EXPECT_TRUE(objects.add(id, "blob", "text"));
  EXPECT_EQ(objects.find(id, "tree"), nullptr);
  ASSERT_NE(objects.find(id, "blob"), nullptr);
  GitObjects batch;
  EXPECT_TRUE(batch.add_batch(id + " blob 4\ntext\n"));
  EXPECT_FALSE(batch.add_batch(id + " missing\n"));
  EXPECT_FALSE(batch.add_batch(id + " blob 5\ntext\n"));
  EXPECT_FALSE(batch.add_batch(id + " blob 4\nevil\n"));
  EXPECT_FALSE(batch.add_batch(id + " blob 18446744073709551615\ntext\n"));
}

TEST(GitTrees, DifferInFilesAndBelowDirectories) {
  GitObjects objects;
  const std::string below = add_tree(objects, {{"100644 f", kX}, {"100644 g", kX}});
  const std::string other = add_tree(objects, {{"100644 f", kY}, {"100644 g", kX}});
  const std::string before = add_tree(objects, {{"100644 a", kX}, {"40000 d", below}});
  const std::string after =
      add_tree(objects, {{"100644 b", kX}, {"40000 d", other}, {"120000 l", kY}});
  EXPECT_EQ(paths_of(diff_git_trees(objects, before, after)),
            (std::vector<std::string>{"a", "b", "d/f", "l"}));
  EXPECT_EQ(paths_of(diff_git_trees(objects, "", below)), (std::vector<std::string>{"f", "g"}));
  EXPECT_TRUE(paths_of(diff_git_trees(objects, before, before)).empty());
  // A directory in the place of a file.
  const std::string kind = add_tree(objects, {{"40000 a", below}, {"40000 d", below}});
  EXPECT_EQ(paths_of(diff_git_trees(objects, before, kind)),
            (std::vector<std::string>{"a", "a/f", "a/g"}));
}

TEST(GitTrees, ThatNobodyShouldCheckOutAreNone) {
  for (const char* name : {"", ".", "..", "a/b"}) {
    GitObjects objects;
    const std::string tree = add_tree(objects, {{std::string("100644 ") + name, kX}});
    EXPECT_FALSE(diff_git_trees(objects, "", tree)) << name;
  }
  GitObjects objects;
  EXPECT_FALSE(
      diff_git_trees(objects, "", add_tree(objects, {{"100644 a", kX}, {"100644 a", kY}})));
  EXPECT_FALSE(diff_git_trees(objects, "", add_tree(objects, {{"4755 a", kX}})));
  // A tree that was not handed over.
  EXPECT_FALSE(diff_git_trees(objects, "", add_tree(objects, {{"40000 a", kX}})));
}

}  // namespace
}  // namespace cordon
