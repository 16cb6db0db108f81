#include "host/git/index.h"

#include <gtest/gtest.h>

#include <string>

namespace cordon {
namespace {

std::string word(std::uint32_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = size; i > 0; --i) bytes.push_back(static_cast<char>(value >> (8 * (i - 1))));
  return bytes;
}

std::string index_of(const std::vector<std::string>& names, unsigned version, std::size_t hash) {
  std::string bytes = "DIRC" + word(version, 4) + word(static_cast<std::uint32_t>(names.size()), 4);
  std::string last;
  for (const std::string& name : names) {
    const std::size_t begin = bytes.size();
    bytes += std::string(24, '\1') + word(0100644, 4) + std::string(12, '\2');
    bytes += std::string(hash, 'h') + word(static_cast<std::uint32_t>(name.size()), 2);
    if (version == 4) {
      bytes += static_cast<char>(last.size());
      bytes += name;
      bytes += '\0';
      last = name;
      continue;
    }
    bytes += name;
    bytes.resize(begin + ((bytes.size() - begin + 8) & ~std::size_t{7}), '\0');
  }
  return bytes + "TREE" + word(3, 4) + "abc" + std::string(hash, '\0');
}

std::vector<std::string> names_of(const std::string& bytes) {
  std::vector<std::string> names;
  const auto index = parse_git_index(bytes);
  if (!index) return {"malformed"};
  for (const GitIndexEntry& entry : index->entries) names.push_back(entry.name);
  return names;
}

TEST(GitIndex, NamesAreReadInEveryVersion) {
  const std::vector<std::string> names = {".mcp.json", ".vscode/a", "b", "long/er/path.txt"};
  for (const unsigned version : {2U, 3U, 4U})
    for (const std::size_t hash : {20U, 32U})
      EXPECT_EQ(names_of(index_of(names, version, hash)), names) << version << " " << hash;
}

TEST(GitIndex, TracksTheSameWhateverTimesItRemembers) {
  for (const unsigned version : {2U, 4U}) {
    const std::string index = index_of({"a", "b/c"}, version, 20);
    EXPECT_TRUE(tracks_the_same(index, index));
    const std::size_t first = parse_git_index(index)->entries.front().begin;
    const auto changed_at = [&](std::size_t offset) {
      std::string other = index;
      other[first + offset] = static_cast<char>(other[first + offset] ^ 1);
      return other;
    };
    for (const std::size_t time : {0U, 8U, 20U, 36U})
      EXPECT_TRUE(tracks_the_same(index, changed_at(time))) << time;
    EXPECT_FALSE(tracks_the_same(index, changed_at(27)));  // the mode
    EXPECT_FALSE(tracks_the_same(index, changed_at(40)));  // the object
    EXPECT_FALSE(tracks_the_same(index, index_of({"a", "b/d"}, version, 20)));
    EXPECT_FALSE(tracks_the_same(index, index_of({"a"}, version, 20)));
    EXPECT_FALSE(tracks_the_same(index, "no index"));
    EXPECT_FALSE(tracks_the_same("", ""));
  }
}

TEST(GitIndex, WhatIsTornOrSplitIsNotRead) {
  const std::string whole = index_of({"a", "b"}, 2, 20);
  for (std::size_t size = 0; size + 31 < whole.size(); ++size)
    EXPECT_FALSE(parse_git_index(whole.substr(0, size))) << size;
  std::string split = whole;
  split.replace(split.find("TREE"), 4, "link");
  EXPECT_FALSE(parse_git_index(split));
  EXPECT_FALSE(parse_git_index("DIRC" + word(5, 4) + std::string(60, '\0')));
}

TEST(GitIndex, MarkedEntriesAreSkippedAndTheOthersStay) {
  const std::vector<std::string> names = {".vscode/a", ".vscode/b", ".vscodex", "z"};
  for (const unsigned version : {2U, 3U, 4U}) {
    const auto marked = mark_skip_worktree(index_of(names, version, 20), {".vscode"});
    ASSERT_TRUE(marked);
    EXPECT_EQ(names_of(*marked), names);
    const auto index = parse_git_index(*marked);
    ASSERT_TRUE(index);
    EXPECT_EQ(index->version, version == 2 ? 3U : version);
    for (const GitIndexEntry& entry : index->entries) {
      EXPECT_EQ(entry.extended, entry.name.starts_with(".vscode/")) << entry.name;
      if (entry.extended) {
        EXPECT_EQ((*marked)[entry.flags + 2], 0x40);
      }
    }
  }
  EXPECT_FALSE(mark_skip_worktree(index_of(names, 2, 20), {"nothing"}));
}

TEST(GitIndex, AMarkIsTakenAwayWhereItIs) {
  const std::vector<std::string> names = {".vscode/a", ".vscode/b", "z"};
  const auto marked = mark_skip_worktree(index_of(names, 2, 20), {".vscode"});
  ASSERT_TRUE(marked);
  EXPECT_FALSE(mark_skip_worktree(*marked, {".vscode"}));
  EXPECT_FALSE(mark_skip_worktree(*marked, {"z"}, SkipMark::Clear));
  const auto cleared = mark_skip_worktree(*marked, {".vscode/a"}, SkipMark::Clear);
  ASSERT_TRUE(cleared);
  EXPECT_EQ(names_of(*cleared), names);
  const auto index = parse_git_index(*cleared);
  ASSERT_TRUE(index);
  EXPECT_EQ((*cleared)[index->entries[0].flags + 2], 0);
  EXPECT_EQ((*cleared)[index->entries[1].flags + 2], 0x40);
  EXPECT_FALSE(index->entries[2].extended);
}

GitTreeEntry entry_of(char digit, const std::string& mode = "100644") {
  return {mode, std::string(40, digit)};
}
// What index_of() gives every name.
GitTreeEntry as_listed() {
  GitTreeEntry entry{"100644", {}};
  for (int i = 0; i < 20; ++i) entry.id += "68";
  return entry;
}

TEST(FollowInIndex, ChangesWhatIsAsBeforeAndKeepsTheRest) {
  for (const unsigned version : {2U, 4U}) {
    const std::string index = index_of({"a", "b/c", "d"}, version, 20);
    const auto followed = follow_in_index(index, GitHash::Sha1,
                                          {{"a", as_listed(), entry_of('1')},
                                           {"b/c", as_listed(), {}},
                                           {"b/d", {}, entry_of('2', "100755")},
                                           {"e", as_listed(), {}}});
    // "e" is gone already.
    ASSERT_TRUE(followed.has_value());
    EXPECT_EQ(names_of(*followed), (std::vector<std::string>{"a", "b/d", "d"}));
    const auto again = follow_in_index(*followed, GitHash::Sha1,
                                       {{"a", as_listed(), entry_of('1')},
                                        {"b/d", entry_of('2', "100755"), {}},
                                        {"b/c", {}, as_listed()}});
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(names_of(*again), (std::vector<std::string>{"a", "b/c", "d"}));
  }
}

TEST(FollowInIndex, RefusesWhatIsStagedOtherwise) {
  const std::string index = index_of({"a"}, 2, 20);
  EXPECT_FALSE(follow_in_index(index, GitHash::Sha1, {{"a", entry_of('1'), entry_of('2')}}));
  EXPECT_FALSE(follow_in_index(index, GitHash::Sha1, {{"a", {}, entry_of('2')}}));
  EXPECT_FALSE(follow_in_index(index, GitHash::Sha1, {{"b", entry_of('1'), entry_of('2')}}));
  EXPECT_FALSE(follow_in_index(index, GitHash::Sha256, {}));
  EXPECT_FALSE(follow_in_index("DIRC", GitHash::Sha1, {}));
  EXPECT_TRUE(follow_in_index(index, GitHash::Sha1, {{"a", entry_of('1'), as_listed()}}));
  EXPECT_TRUE(follow_in_index("", GitHash::Sha1, {{"a", {}, entry_of('2')}}));
}

TEST(FollowInIndex, RefusesTheMiddleOfAMerge) {
  std::string index = index_of({"a"}, 2, 20);
  const std::size_t flags = parse_git_index(index)->entries.front().flags;
  index[flags] = static_cast<char>(index[flags] | 0x10);
  EXPECT_FALSE(follow_in_index(index, GitHash::Sha1, {}));
}

}  // namespace
}  // namespace cordon
