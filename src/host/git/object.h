// Git's objects as bytes: their ids, and the two kinds that name others. The id of an object is the
// hash of its type, size and content, so whoever has a trusted id can check what it is given. Git
// does not do that when it reads a loose file or a pack, and a run can write both.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
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
  bool operator==(const GitTreeEntry&) const = default;
};
// The entry of that name; nothing if the bytes are no tree, or the name is not there exactly once.
std::optional<GitTreeEntry> find_in_git_tree(std::string_view content, std::string_view name,
                                             GitHash hash);

// Every entry by its name; nothing if the bytes are no tree, or one that no git would check out: a
// name twice, empty, "." or "..", or with a slash in it.
std::optional<std::map<std::string, GitTreeEntry, std::less<>>> parse_git_tree(
    std::string_view content, GitHash hash);

// Objects that were handed over by somebody who is not believed. What is found here has the hash
// that it was asked for by.
class GitObjects {
 public:
  // False if the content has another id.
  bool add(const std::string& id, std::string_view type, std::string content);
  // Null if there is none of that type.
  [[nodiscard]] const std::string* find(const std::string& id, std::string_view type) const;
  // What `git cat-file --batch` prints. False if that is cut off, is no such text, or an object is
  // not what it is called.
  bool add_batch(std::string_view text);

 private:
  struct Object {
    std::string type;
    std::string content;
  };
  std::map<std::string, Object, std::less<>> objects_;
};

// A path in which two trees differ. A mode of "" is: not there.
struct GitTreeChange {
  std::string path;
  GitTreeEntry before;
  GitTreeEntry after;
};
inline constexpr std::size_t kMostTreeChanges = 200'000;
// Files, links and submodules that differ, sorted. A tree of "" is empty. Nothing if an object that
// is needed is not in `objects`, is malformed, or if there are more.
std::optional<std::vector<GitTreeChange>> diff_git_trees(const GitObjects& objects,
                                                         const std::string& before,
                                                         const std::string& after);

}  // namespace cordon
