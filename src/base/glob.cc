#include <span>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

// One element of a component pattern: its length in the pattern and whether it takes `c`.
struct Element {
  std::size_t length = 1;
  bool matches = false;
};

char32_t value_of(std::string_view at, const Utf8Step& step) {
  // Bytes that are not UTF-8 get values no code point has, so a bracket never takes them by range.
  constexpr char32_t kPastUnicode = 0x110000;
  return step.code_point.value_or(kPastUnicode + static_cast<unsigned char>(at.front()));
}

char32_t take(std::string_view& text) {
  const Utf8Step step = utf8_step(text);
  const char32_t value = value_of(text, step);
  text.remove_prefix(step.length);
  return value;
}

// The whole of "[...]" at the front of `pattern`; nothing if it is never closed.
std::optional<std::size_t> bracket_length(std::string_view pattern) {
  std::size_t from = 1;
  if (from < pattern.size() && (pattern[from] == '!' || pattern[from] == '^')) ++from;
  const std::size_t close = pattern.find(']', from + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return close + 1;
}

bool bracket_matches(std::string_view inner, char32_t c) {
  const bool negated = inner.front() == '!' || inner.front() == '^';
  if (negated) inner.remove_prefix(1);
  bool listed = false;
  while (!inner.empty()) {
    const char32_t first = take(inner);
    char32_t last = first;
    if (inner.size() >= 2 && inner.front() == '-') {
      inner.remove_prefix(1);
      last = take(inner);
    }
    listed = listed || (first <= c && c <= last);
  }
  return listed != negated;
}

Element element_at(std::string_view pattern, char32_t c) {
  if (pattern.front() == '?') return {1, true};
  if (pattern.front() == '[') {
    if (const auto length = bracket_length(pattern)) {
      return {*length, bracket_matches(pattern.substr(1, *length - 2), c)};
    }
  }
  const Utf8Step step = utf8_step(pattern);
  return {step.length, value_of(pattern, step) == c};
}

// The last star alone needs to be reconsidered: what stands before it matched as early as it could.
bool component_matches(std::string_view pattern, std::string_view name) {
  std::optional<std::string_view> after_star;
  std::string_view retry_from;
  for (;;) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      after_star = pattern;
      retry_from = name;
      continue;
    }
    if (name.empty() && pattern.empty()) return true;
    if (!name.empty() && !pattern.empty()) {
      const Utf8Step step = utf8_step(name);
      const Element element = element_at(pattern, value_of(name, step));
      if (element.matches) {
        pattern.remove_prefix(element.length);
        name.remove_prefix(step.length);
        continue;
      }
    }
    if (!after_star || retry_from.empty()) return false;
    retry_from.remove_prefix(utf8_step(retry_from).length);
    name = retry_from;
    pattern = *after_star;
  }
}

using Parts = std::span<const std::string_view>;

// The same over components, with "**" in the place of the star. A closing "**" wants at least one
// component: "a/**" is what lies in a, not a itself.
bool path_matches(Parts pattern, Parts path) {
  std::optional<Parts> after_stars;
  Parts retry_from;
  for (;;) {
    if (pattern.empty() && path.empty()) return true;
    if (!pattern.empty() && pattern.front() == "**") {
      if (pattern.size() == 1) return !path.empty();
      pattern = pattern.subspan(1);
      after_stars = pattern;
      retry_from = path;
      continue;
    }
    if (!pattern.empty() && !path.empty() && component_matches(pattern.front(), path.front())) {
      pattern = pattern.subspan(1);
      path = path.subspan(1);
      continue;
    }
    if (!after_stars || retry_from.empty()) return false;
    retry_from = retry_from.subspan(1);
    path = retry_from;
    pattern = *after_stars;
  }
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view path) {
  if (pattern.find('/') == std::string_view::npos) {
    return component_matches(pattern, basename(path));
  }
  return path_matches(components(pattern), components(path));
}

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

}  // namespace cordon
