// Lines that hold a text or match an extended regular expression. A pattern comes from a model and
// may take for ever or all memory; here it takes the sandbox's.
#include <fcntl.h>
#include <regex.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "mcp/inside/inside.h"
#include "mcp/inside/tree_walk.h"
#include "mcp/inside/whole_file.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostMatches = 200;
constexpr std::size_t kMostSearched = std::size_t{4} << 20U;  // of one file
constexpr std::size_t kLongestLine = 300;
constexpr std::size_t kBinaryLook = 8'192;

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
  bool look_at(std::string_view path, const std::string& content) {
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

// The content of a regular file, unless it is not text.
std::optional<std::string> searched_text_of(const WalkedEntry& entry, std::size_t& skipped) {
  if (!S_ISREG(entry.status.st_mode)) return std::nullopt;
  const Fd file(::openat(entry.directory >= 0 ? entry.directory : AT_FDCWD, entry.name,
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > kMostSearched) {
    ++skipped;
    return std::nullopt;
  }
  auto content = read_bytes(file.get(), kMostSearched);
  if (!content) return std::nullopt;
  const std::string_view begin = std::string_view(*content).substr(0, kBinaryLook);
  if (begin.find('\0') != std::string_view::npos) return std::nullopt;
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
  std::size_t skipped = 0;
  int failed = 0;
  const WalkEnd end = walk_tree(
      path, {},
      [&](const WalkedEntry& entry) {
        if (glob != nullptr && !glob_match(*glob, entry.path)) return true;
        const auto content = searched_text_of(entry, skipped);
        return !content || search.look_at(entry.path, *content);
      },
      failed);
  if (failed != 0) return tl::make_unexpected(failed);
  Node answer{NodeMap{}};
  answer.set("matches", std::move(search.matches))
      .set("more", search.more)
      .set("skipped", skipped)
      .set("incomplete", is_incomplete(end));
  return answer;
}

}  // namespace cordon::mcp
