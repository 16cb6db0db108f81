// As in base/sha256.cc: functions that only compute, and load no provider.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "host/git/object.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/sha256.h"
#include "base/text.h"
#include "host/git/branch_tips.h"

namespace cordon {
namespace {

// Directory, file, executable, link and submodule.
constexpr std::array<std::string_view, 5> kTreeModes{"40000", "100644", "100755", "120000",
                                                     "160000"};

std::size_t bytes_of(GitHash hash) { return hash == GitHash::Sha1 ? 20 : 32; }

// "WORD ID\n" at the beginning of `text`, which it takes away.
std::optional<std::string> take_line(std::string_view& text, std::string_view word, GitHash hash) {
  const std::size_t digits = 2 * bytes_of(hash);
  if (text.size() < word.size() + digits + 2 || !text.starts_with(word) ||
      text[word.size()] != ' ' || text[word.size() + 1 + digits] != '\n') {
    return std::nullopt;
  }
  const std::string_view id = text.substr(word.size() + 1, digits);
  if (!is_object_id(id)) return std::nullopt;
  text.remove_prefix(word.size() + digits + 2);
  return std::string(id);
}

}  // namespace

GitHash git_hash_of(std::string_view id) {
  return id.size() == 64 ? GitHash::Sha256 : GitHash::Sha1;
}

std::string git_object_id(GitHash hash, std::string_view type, std::string_view content) {
  std::string head(type);
  head.append(" ").append(std::to_string(content.size())).push_back('\0');
  if (hash == GitHash::Sha256) return sha256_hex(head.append(content));
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, head.data(), head.size());
  SHA1_Update(&context, content.data(), content.size());
  SHA1_Final(digest.data(), &context);
  return to_hex(digest);
}

std::optional<GitCommit> parse_git_commit(std::string_view content, GitHash hash) {
  auto tree = take_line(content, "tree", hash);
  if (!tree) return std::nullopt;
  GitCommit commit{*std::move(tree), {}};
  while (auto parent = take_line(content, "parent", hash)) {
    commit.parents.push_back(*std::move(parent));
  }
  return commit;
}

std::optional<GitTreeEntry> find_in_git_tree(std::string_view content, std::string_view name,
                                             GitHash hash) {
  const std::size_t size = bytes_of(hash);
  std::optional<GitTreeEntry> found;
  while (!content.empty()) {
    const std::size_t space = content.find(' ');
    const std::size_t end = content.find('\0');
    if (space == std::string_view::npos || end == std::string_view::npos || end < space ||
        content.size() - end - 1 < size) {
      return std::nullopt;
    }
    if (content.substr(space + 1, end - space - 1) == name) {
      if (found) return std::nullopt;
      const std::string_view id = content.substr(end + 1, size);
      found = {std::string(content.substr(0, space)),
               to_hex(std::span(reinterpret_cast<const std::uint8_t*>(id.data()), id.size()))};
    }
    content.remove_prefix(end + 1 + size);
  }
  return found;
}

std::optional<std::map<std::string, GitTreeEntry, std::less<>>> parse_git_tree(
    std::string_view content, GitHash hash) {
  const std::size_t size = bytes_of(hash);
  std::map<std::string, GitTreeEntry, std::less<>> entries;
  while (!content.empty()) {
    const std::size_t space = content.find(' ');
    const std::size_t end = content.find('\0');
    if (space == std::string_view::npos || end == std::string_view::npos || end < space ||
        content.size() - end - 1 < size) {
      return std::nullopt;
    }
    const std::string_view name = content.substr(space + 1, end - space - 1);
    const std::string_view id = content.substr(end + 1, size);
    std::string mode(content.substr(0, space));
    if (mode == "100664") mode = "100644";
    if (std::ranges::find(kTreeModes, mode) == kTreeModes.end() || name.empty() || name == "." ||
        name == ".." || name.find('/') != std::string_view::npos) {
      return std::nullopt;
    }
    const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(id.data()), id.size());
    if (!entries.emplace(name, GitTreeEntry{std::move(mode), to_hex(bytes)}).second) {
      return std::nullopt;
    }
    content.remove_prefix(end + 1 + size);
  }
  return entries;
}

bool GitObjects::add(const std::string& id, std::string_view type, std::string content) {
  if (!is_object_id(id) || git_object_id(git_hash_of(id), type, content) != id) return false;
  objects_.insert_or_assign(id, Object{std::string(type), std::move(content)});
  return true;
}

const std::string* GitObjects::find(const std::string& id, std::string_view type) const {
  const auto found = objects_.find(id);
  return found != objects_.end() && found->second.type == type ? &found->second.content : nullptr;
}

bool GitObjects::add_batch(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    const std::vector<std::string_view> words = split(text.substr(0, end), ' ');
    const auto size = words.size() == 3 ? parse_number(words[2]) : std::nullopt;
    text.remove_prefix(end + 1);
    if (!size || *size >= text.size() || text[*size] != '\n') return false;
    if (!add(std::string(words[0]), words[1], std::string(text.substr(0, *size)))) return false;
    text.remove_prefix(*size + 1);
  }
  return true;
}

namespace {

class TreeDiff {
 public:
  explicit TreeDiff(const GitObjects& objects) : objects_(objects) {}

  bool compare(const std::string& before, const std::string& after, const std::string& above,
               int depth) {
    constexpr int kDeepest = 200;
    const auto old_entries = entries_of(before);
    const auto new_entries = entries_of(after);
    if (depth > kDeepest || !old_entries || !new_entries) return false;
    std::set<std::string_view> names;
    for (const auto& [name, entry] : *old_entries) names.insert(name);
    for (const auto& [name, entry] : *new_entries) names.insert(name);
    for (const std::string_view name : names) {
      const auto old_found = old_entries->find(name);
      const auto new_found = new_entries->find(name);
      const GitTreeEntry none;
      const GitTreeEntry& a = old_found == old_entries->end() ? none : old_found->second;
      const GitTreeEntry& b = new_found == new_entries->end() ? none : new_found->second;
      if (a != b && !entry(a, b, above + std::string(name), depth)) return false;
    }
    return true;
  }

  std::vector<GitTreeChange> take() {
    std::ranges::sort(changes_, {}, &GitTreeChange::path);
    return std::move(changes_);
  }

 private:
  static bool is_tree(const GitTreeEntry& entry) { return entry.mode == "40000"; }

  bool entry(const GitTreeEntry& a, const GitTreeEntry& b, const std::string& path, int depth) {
    if (changes_.size() >= kMostTreeChanges) return false;
    const GitTreeEntry none;
    const GitTreeEntry& file_a = is_tree(a) ? none : a;
    const GitTreeEntry& file_b = is_tree(b) ? none : b;
    if (file_a != file_b) changes_.push_back({path, file_a, file_b});
    if (!is_tree(a) && !is_tree(b)) return true;
    return compare(is_tree(a) ? a.id : std::string(), is_tree(b) ? b.id : std::string(), path + "/",
                   depth + 1);
  }

  [[nodiscard]] std::optional<std::map<std::string, GitTreeEntry, std::less<>>> entries_of(
      const std::string& tree) const {
    if (tree.empty()) return std::map<std::string, GitTreeEntry, std::less<>>();
    const std::string* content = objects_.find(tree, "tree");
    if (content == nullptr) return std::nullopt;
    return parse_git_tree(*content, git_hash_of(tree));
  }

  const GitObjects& objects_;
  std::vector<GitTreeChange> changes_;
};

}  // namespace

std::optional<std::vector<GitTreeChange>> diff_git_trees(const GitObjects& objects,
                                                         const std::string& before,
                                                         const std::string& after) {
  TreeDiff diff(objects);
  if (before != after && !diff.compare(before, after, "", 0)) return std::nullopt;
  return diff.take();
}

}  // namespace cordon
