#include "faces/mcp/inside/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "faces/mcp/call.h"
#include "faces/mcp/inside/gitignore.h"
#include "faces/mcp/inside/inside.h"

namespace cordon::mcp {
namespace {

using std::chrono::steady_clock;

std::vector<std::string> names_in(int directory, bool& failed) {
  std::vector<std::string> names;
  // A descriptor of its own: reading moves its place.
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr,
                                                   ::closedir);
  if (!stream) {
    failed = true;
    return names;
  }
  (void)copy.release();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  failed |= errno != 0;
  std::ranges::sort(names);
  return names;
}

class Walk {
 public:
  Walk(const WalkBounds& bounds, const std::function<bool(const WalkedEntry&)>& visit)
      : bounds_(bounds),
        visit_(visit),
        deadline_(steady_clock::now() + std::chrono::seconds(bounds.seconds)) {}

  void below(int directory, const std::string& prefix, std::size_t level) {
    if (bounds_.ignored != nullptr) bounds_.ignored->enter(directory, prefix);
    entries_of(directory, prefix, level);
    if (bounds_.ignored != nullptr) bounds_.ignored->leave();
  }

  [[nodiscard]] WalkEnd outcome() const {
    return end == WalkEnd::Complete && passed_over_ ? WalkEnd::Partly : end;
  }

  WalkEnd end = WalkEnd::Complete;

 private:
  void entries_of(int directory, const std::string& prefix, std::size_t level) {
    for (const std::string& name : names_in(directory, passed_over_)) {
      if (end != WalkEnd::Complete) return;
      if (++looked_ > bounds_.entries || steady_clock::now() > deadline_) {
        end = WalkEnd::Bounded;
        return;
      }
      struct stat status {};
      if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
        passed_over_ |= errno != ENOENT;  // removed meanwhile
        continue;
      }
      const std::string path = prefix + name;
      if (bounds_.ignored != nullptr && bounds_.ignored->ignores(path, S_ISDIR(status.st_mode))) {
        continue;
      }
      if (!visit_({path, status, directory, name.c_str()})) {
        end = WalkEnd::Stopped;
        return;
      }
      if (!S_ISDIR(status.st_mode) || name == ".git") continue;
      if (level >= bounds_.depth) {
        passed_over_ |= !bounds_.depth_is_asked;
        continue;
      }
      const Fd inner(
          ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inner.valid()) {
        below(inner.get(), path + "/", level + 1);
      } else {
        passed_over_ |= errno != ENOENT;
      }
    }
  }

  const WalkBounds& bounds_;
  const std::function<bool(const WalkedEntry&)>& visit_;
  const steady_clock::time_point deadline_;
  std::size_t looked_ = 0;
  bool passed_over_ = false;
};

}  // namespace

WalkEnd walk_tree(const std::string& root, const WalkBounds& bounds,
                  const std::function<bool(const WalkedEntry&)>& visit, int& failed) {
  failed = 0;
  struct stat status {};
  if (::lstat(root.c_str(), &status) < 0) {
    failed = errno;
    return WalkEnd::Stopped;
  }
  if (!S_ISDIR(status.st_mode)) {
    const bool goes_on = visit({"", status, -1, root.c_str()});
    return goes_on ? WalkEnd::Complete : WalkEnd::Stopped;
  }
  const Fd directory(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    failed = errno;
    return WalkEnd::Stopped;
  }
  Walk walk(bounds, visit);
  walk.below(directory.get(), "", 1);
  return walk.outcome();
}

namespace {

// What lies in a tree, and in which version.

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

// What is left out, unless everything is wanted.
std::optional<IgnoredNames> ignored_by(const Node& request, const std::string& root) {
  const std::string* top = text_member(request, "work_tree");
  if (top == nullptr) return std::nullopt;
  return IgnoredNames(*top, root);
}

}  // namespace

InsideReply list_inside(const std::string& path, const Node& request) {
  const std::string* glob = text_member(request, "glob");
  const std::size_t start = number_or(request, "start", 0);
  const std::size_t limit = std::min(number_or(request, "limit", kMostListed), kMostListed);
  WalkBounds bounds;
  bounds.depth_is_asked = request.find("depth") != nullptr;
  bounds.depth = number_or(request, "depth", bounds.depth);
  auto ignored = ignored_by(request, path);
  bounds.ignored = ignored ? &*ignored : nullptr;
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
  if (ignored) answer.set("ignored", ignored->count());
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

namespace {

// Lines that hold a text or match an extended regular expression. A pattern comes from a model and
// may take for ever or all memory; here it takes the sandbox's.

constexpr std::size_t kMostMatches = 200;
constexpr std::size_t kMostSearched = std::size_t{4} << 20U;  // of one file
constexpr std::size_t kLongestLine = 300;

class Pattern {
 public:
  Pattern(const std::string& text, bool literal) : text_(text), literal_(literal) {
    if (literal) return;
    fault_ = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED);
    compiled_is_there_ = fault_ == 0;
  }
  ~Pattern() {
    if (compiled_is_there_) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  [[nodiscard]] std::optional<std::string> fault() const {
    if (fault_ == 0) return std::nullopt;
    std::string words(256, '\0');
    words.resize(::regerror(fault_, &compiled_, words.data(), words.size()) - 1);
    return words;
  }
  [[nodiscard]] bool matches(std::string_view line) const {
    if (literal_) return line.find(text_) != std::string_view::npos;
    regmatch_t range{0, static_cast<regoff_t>(line.size())};
    return ::regexec(&compiled_, line.data(), 1, &range, REG_STARTEND) == 0;
  }

 private:
  const std::string text_;
  const bool literal_;
  regex_t compiled_{};
  int fault_ = 0;
  bool compiled_is_there_ = false;
};

std::string shortened(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string text = to_utf8(line.substr(0, kLongestLine));
  return line.size() > kLongestLine ? text + "[...]" : text;
}

struct Wanted {
  std::size_t start = 0;
  std::size_t limit = kMostMatches;
  std::size_t context = 0;
};

class LineSearch {
 public:
  LineSearch(const Pattern& pattern, const Wanted& wanted) : pattern_(pattern), wanted_(wanted) {}

  // False: there is enough.
  bool inspect_at(std::string_view path, const std::string& content) {
    std::vector<std::string_view> lines = split(content, '\n');
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!pattern_.matches(lines[i])) continue;
      if (found_++ < wanted_.start) continue;
      if (matches.size() >= wanted_.limit) {
        more = true;
        return false;
      }
      add(path, lines, i);
    }
    return true;
  }

  NodeList matches;
  bool more = false;

 private:
  void add(std::string_view path, const std::vector<std::string_view>& lines, std::size_t at) {
    const std::size_t begin = at - std::min(at, wanted_.context);
    const std::size_t end = std::min(lines.size(), at + wanted_.context + 1);
    NodeList shown;
    for (std::size_t i = begin; i < end; ++i) shown.emplace_back(shortened(lines[i]));
    matches.push_back(NodeList{path, std::uint64_t{at + 1}, std::uint64_t{begin + 1}, shown});
  }

  const Pattern& pattern_;
  const Wanted wanted_;
  std::size_t found_ = 0;
};

struct NotSearched {
  std::size_t skipped = 0;  // too long, or not to be opened
  std::size_t binary = 0;
};

// The content of a regular file, unless it is not text.
std::optional<std::string> searched_text_of(const WalkedEntry& entry, NotSearched& not_searched) {
  if (!S_ISREG(entry.status.st_mode)) return std::nullopt;
  const Fd file(::openat(entry.directory >= 0 ? entry.directory : AT_FDCWD, entry.name,
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > kMostSearched) {
    ++not_searched.skipped;
    return std::nullopt;
  }
  auto content = read_bytes(file.get(), kMostSearched);
  if (!content) return std::nullopt;
  if (is_binary(*content)) {
    ++not_searched.binary;
    return std::nullopt;
  }
  return std::move(*content);
}

}  // namespace

InsideReply search_inside(const std::string& path, const Node& request) {
  const std::string* text = text_member(request, "pattern");
  if (text == nullptr || text->find('\0') != std::string::npos) {
    return tl::make_unexpected(EINVAL);
  }
  const Pattern pattern(*text, flag_member(request, "literal"));
  if (const auto fault = pattern.fault()) {
    Node node{NodeMap{}};
    node.set("fault", "pattern").set("words", *fault);
    return node;
  }
  const std::string* glob = text_member(request, "glob");
  LineSearch search(pattern, {number_or(request, "start", 0),
                              std::min(number_or(request, "limit", kMostMatches), kMostMatches),
                              number_or(request, "context", 0)});
  NotSearched not_searched;
  int failed = 0;
  WalkBounds bounds;
  auto ignored = ignored_by(request, path);
  bounds.ignored = ignored ? &*ignored : nullptr;
  const WalkEnd end = walk_tree(
      path, bounds,
      [&](const WalkedEntry& entry) {
        if (glob != nullptr && !glob_match(*glob, entry.path)) return true;
        const auto content = searched_text_of(entry, not_searched);
        return !content || search.inspect_at(entry.path, *content);
      },
      failed);
  if (failed != 0) return tl::make_unexpected(failed);
  Node answer{NodeMap{}};
  answer.set("matches", std::move(search.matches))
      .set("more", search.more)
      .set("skipped", not_searched.skipped)
      .set("binary", not_searched.binary)
      .set("incomplete", is_incomplete(end));
  if (ignored) answer.set("ignored", ignored->count());
  return answer;
}

}  // namespace cordon::mcp
