// As in base/sha256.cc: functions that only compute, and load no provider.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "host/git/object.h"

#include <openssl/sha.h>

#include <array>
#include <span>

#include "base/sha256.h"
#include "host/git/branch_tips.h"

namespace cordon {
namespace {

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

}  // namespace cordon
