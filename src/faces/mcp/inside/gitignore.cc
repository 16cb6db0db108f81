#include "faces/mcp/inside/gitignore.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "faces/mcp/inside/inside.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostIgnoreBytes = std::size_t{1} << 20U;

// Blanks at the end do not count, unless the last has a backslash before it.
std::string_view without_blanks(std::string_view line) {
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

// A backslash takes the meaning from what follows it.
std::string as_glob(std::string_view pattern) {
  std::string glob;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      glob += pattern[i];
      continue;
    }
    const char next = pattern[++i];
    const bool means_something = next == '*' || next == '?' || next == '[';
    if (means_something) glob += '[';
    glob += next;
    if (means_something) glob += ']';
  }
  return glob;
}

// A link is not followed; git does not either.
std::optional<std::string> ignore_file(int directory, const std::string& name) {
  const Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  auto text = read_bytes(file.get(), kMostIgnoreBytes);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace

void IgnoreRules::add(std::string_view base, std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = without_blanks(line);
    if (line.empty() || line.front() == '#') continue;
    Rule rule;
    rule.base = base;
    rule.negated = line.front() == '!';
    if (rule.negated) line.remove_prefix(1);
    rule.directories = line.ends_with('/');
    if (rule.directories) line.remove_suffix(1);
    if (line.empty()) continue;
    const bool anchored = line.find('/') != std::string_view::npos;
    if (line.front() == '/') line.remove_prefix(1);
    rule.top = anchored && line.find('/') == std::string_view::npos;
    rule.pattern = as_glob(line);
    rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::ignores(std::string_view path, bool is_directory) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (!path.starts_with(rule->base) || (rule->directories && !is_directory)) continue;
    const std::string_view below = path.substr(rule->base.size());
    if (rule->top && below.find('/') != std::string_view::npos) continue;
    if (glob_match(rule->pattern, below)) return !rule->negated;
  }
  return false;
}

IgnoredNames::IgnoredNames(const std::string& top, const std::string& root) {
  const Fd above(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_PATH));
  if (!above.valid()) return;
  if (const auto text = ignore_file(above.get(), ".git/info/exclude")) rules_.add("", *text);
  if (root == top || !contains(top, root)) return;
  // From the top down to the root, whose own file is read when it is entered.
  for (const std::string_view part : components(std::string_view(root).substr(top.size() + 1))) {
    if (const auto text = ignore_file(above.get(), prefix_ + ".gitignore")) {
      rules_.add(prefix_, *text);
    }
    const std::string path = prefix_ + std::string(part);
    off_ = off_ || rules_.ignores(path, true);
    prefix_ = path + "/";
  }
}

void IgnoredNames::enter(int directory, std::string_view path) {
  sizes_.push_back(rules_.size());
  const auto text = off_ ? std::nullopt : ignore_file(directory, ".gitignore");
  if (text) rules_.add(prefix_ + std::string(path), *text);
}

void IgnoredNames::leave() {
  rules_.shrink(sizes_.back());
  sizes_.pop_back();
}

bool IgnoredNames::ignores(std::string_view path, bool is_directory) {
  if (off_ || !rules_.ignores(prefix_ + std::string(path), is_directory)) return false;
  ++count_;
  return true;
}

}  // namespace cordon::mcp
