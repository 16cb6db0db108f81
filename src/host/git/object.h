// Git's objects as bytes: their ids, and the two kinds that name others. The id of an object is the
// hash of its type, size and content, so whoever has a trusted id can check what it is given. Git
// does not do that when it reads a loose file or a pack, and a run can write both.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// SHA-1 for ids of 40 digits, SHA-256 for ids of 64.
enum class GitHash { Sha1, Sha256 };
// Of an id in hexadecimal digits.
GitHash git_hash_of(std::string_view id);

std::string git_object_id(GitHash hash, std::string_view type, std::string_view content);

struct GitCommit {
  std::string tree;
  std::vector<std::string> parents;
};
// The head of a commit object; nothing if it is not one.
std::optional<GitCommit> parse_git_commit(std::string_view content, GitHash hash);

struct GitTreeEntry {
  std::string mode;  // as it is written: "100644", "40000"
  std::string id;
};
// The entry of that name; nothing if the bytes are no tree, or the name is not there exactly once.
std::optional<GitTreeEntry> find_in_git_tree(std::string_view content, std::string_view name,
                                             GitHash hash);

}  // namespace cordon
