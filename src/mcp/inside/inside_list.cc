// What lies in a tree, and in which version.
#include <fcntl.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "mcp/inside/inside.h"
#include "mcp/inside/tree_walk.h"
#include "mcp/inside/whole_file.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostListed = 1'000;
constexpr std::size_t kMostSurveyed = 50'000;
constexpr std::size_t kLongestText = std::size_t{64} << 10U;
constexpr std::size_t kMostText = std::size_t{4} << 20U;

std::string_view kind_of(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "dir";
  if (S_ISREG(status.st_mode)) return "file";
  return S_ISLNK(status.st_mode) ? "link" : "other";
}

Node entry_of(const WalkedEntry& entry) {
  return NodeList{kind_of(entry.status), static_cast<std::uint64_t>(entry.status.st_size),
                  entry.path};
}

}  // namespace

InsideReply list_inside(const std::string& path, const Node& request) {
  const std::string* glob = text_member(request, "glob");
  const std::size_t start = number_or(request, "start", 0);
  const std::size_t limit = std::min(number_or(request, "limit", kMostListed), kMostListed);
  WalkBounds bounds;
  bounds.depth_is_asked = request.find("depth") != nullptr;
  bounds.depth = number_or(request, "depth", bounds.depth);
  NodeList entries;
  std::size_t matched = 0;
  bool more = false;
  int failed = 0;
  const WalkEnd end = walk_tree(
      path, bounds,
      [&](const WalkedEntry& entry) {
        if (glob != nullptr && !glob_match(*glob, entry.path)) return true;
        if (matched++ < start) return true;
        more = entries.size() >= limit;
        if (!more) entries.push_back(entry_of(entry));
        return !more;
      },
      failed);
  if (failed != 0) return tl::make_unexpected(failed);
  Node answer{NodeMap{}};
  answer.set("entries", std::move(entries)).set("more", more).set("incomplete", is_incomplete(end));
  return answer;
}

namespace {

// The text of a file, for as many files as there is room for.
std::optional<std::string> short_text_of(const WalkedEntry& entry, std::size_t& room) {
  const struct stat& status = entry.status;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || entry.directory < 0) return std::nullopt;
  if (size > kLongestText || size > room) return std::nullopt;
  const Fd file(
      ::openat(entry.directory, entry.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  auto content = read_bytes(file.get(), kLongestText);
  if (!content || content->size() != size || content->find('\0') != std::string::npos ||
      !is_valid_utf8(*content)) {
    return std::nullopt;
  }
  room -= size;
  return std::move(*content);
}

}  // namespace

// Every file with what tells one version of it from the next: inode, size, mode and ctime, which no
// program can set back; and its text.
InsideReply survey_inside(const std::string& path, const Node&) {
  WalkBounds bounds;
  bounds.entries = kMostSurveyed;
  NodeList entries;
  int failed = 0;
  std::size_t room = kMostText;
  const WalkEnd end = walk_tree(
      path, bounds,
      [&](const WalkedEntry& entry) {
        const struct stat& status = entry.status;
        if (S_ISDIR(status.st_mode)) return true;
        constexpr std::int64_t kBillion = 1'000'000'000;
        const std::string version =
            std::to_string(status.st_ino) + " " + std::to_string(status.st_size) + " " +
            std::to_string(status.st_mode) + " " +
            std::to_string(status.st_ctim.tv_sec * kBillion + status.st_ctim.tv_nsec);
        NodeList one{entry.path, version};
        if (auto text = short_text_of(entry, room)) one.emplace_back(std::move(*text));
        entries.push_back(std::move(one));
        return true;
      },
      failed);
  if (failed != 0) return tl::make_unexpected(failed);
  Node answer{NodeMap{}};
  answer.set("entries", std::move(entries)).set("incomplete", is_incomplete(end));
  return answer;
}

}  // namespace cordon::mcp
