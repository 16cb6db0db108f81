#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

TEST(Glob, WithoutASlashMatchesTheLastComponent) {
  EXPECT_TRUE(glob_match(".env", ".env"));
  EXPECT_TRUE(glob_match(".env", "a/b/.env"));
  EXPECT_TRUE(glob_match("*.pem", "/x/key.pem"));
  EXPECT_TRUE(glob_match("*", ".hidden"));
  EXPECT_FALSE(glob_match(".env", "a/.env/b"));
  EXPECT_FALSE(glob_match(".env", "x.env"));
}

TEST(Glob, WithASlashMatchesTheWholePath) {
  EXPECT_TRUE(glob_match("a/*.c", "a/x.c"));
  EXPECT_FALSE(glob_match("a/*.c", "a/b/x.c"));
  EXPECT_FALSE(glob_match("a/*.c", "z/a/x.c"));
}

TEST(Glob, CrossesComponentsOnlyWithTwoStars) {
  EXPECT_TRUE(glob_match("**/*.pem", "k.pem"));
  EXPECT_TRUE(glob_match("**/*.pem", "a/b/k.pem"));
  EXPECT_TRUE(glob_match("a/**/z", "a/z"));
  EXPECT_TRUE(glob_match("a/**/z", "a/b/c/z"));
  EXPECT_FALSE(glob_match("a/**/z", "a/b/c"));
  EXPECT_TRUE(glob_match("a/**", "a/b/c"));
  EXPECT_FALSE(glob_match("a/**", "a"));
  EXPECT_FALSE(glob_match("a/**", "ab/c"));
}

TEST(Glob, MatchesCharactersNotBytes) {
  EXPECT_TRUE(glob_match("?.c", "\xC3\xA9.c"));
  EXPECT_FALSE(glob_match("??.c", "\xC3\xA9.c"));
  EXPECT_TRUE(glob_match("[\xC3\xA0-\xC3\xBF].c", "\xC3\xA9.c"));
  EXPECT_TRUE(glob_match("?", "\xFF"));
}

TEST(Glob, UnderstandsBrackets) {
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_FALSE(glob_match("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_match("[^a-c]x", "dx"));
  EXPECT_TRUE(glob_match("[]]", "]"));
  EXPECT_TRUE(glob_match("[!]]", "x"));
  EXPECT_TRUE(glob_match("[a-]", "-"));
  EXPECT_TRUE(glob_match("[ab", "[ab"));
  EXPECT_TRUE(glob_match("[*]", "*"));
  EXPECT_FALSE(glob_match("[*]", "x"));
}

TEST(Glob, IsToldFromAPlainName) {
  EXPECT_TRUE(is_glob("*.pem"));
  EXPECT_TRUE(is_glob("a?"));
  EXPECT_TRUE(is_glob("[a]"));
  EXPECT_FALSE(is_glob("/home/u/.env"));
}

TEST(Glob, StaysQuickOnAPatternMadeToBacktrack) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(2000, 'a')));
  std::string deep_pattern;
  std::string deep_path;
  for (int i = 0; i < 40; ++i) deep_pattern += "**/a/";
  for (int i = 0; i < 500; ++i) deep_path += "a/";
  EXPECT_FALSE(glob_match(deep_pattern + "b", deep_path + "c"));
}

// The definition: every star tries every length. ASCII only.
bool slow_component(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return slow_component(pattern.substr(1), name) ||
           (!name.empty() && slow_component(pattern, name.substr(1)));
  }
  if (name.empty()) return false;
  if (pattern.starts_with("[ab]")) {
    return (name.front() == 'a' || name.front() == 'b') &&
           slow_component(pattern.substr(4), name.substr(1));
  }
  if (pattern.starts_with("[!a]")) {
    return name.front() != 'a' && slow_component(pattern.substr(4), name.substr(1));
  }
  return (pattern.front() == '?' || pattern.front() == name.front()) &&
         slow_component(pattern.substr(1), name.substr(1));
}

using Parts = std::vector<std::string_view>;

bool slow_parts(const Parts& pattern, std::size_t p, const Parts& path, std::size_t n) {
  if (p == pattern.size()) return n == path.size();
  if (pattern[p] == "**") {
    if (p + 1 == pattern.size()) return n < path.size();
    return slow_parts(pattern, p + 1, path, n) ||
           (n < path.size() && slow_parts(pattern, p, path, n + 1));
  }
  return n < path.size() && slow_component(pattern[p], path[n]) &&
         slow_parts(pattern, p + 1, path, n + 1);
}

rc::Gen<std::string> pieces(const std::vector<std::string>& alphabet, std::size_t most) {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, most + 1), [=](std::size_t count) {
    return rc::gen::map(
        rc::gen::container<std::vector<std::string>>(count, rc::gen::elementOf(alphabet)),
        [](const std::vector<std::string>& parts) {
          std::string out;
          for (const auto& part : parts) out += part;
          return out;
        });
  });
}

TEST(Glob, EqualsItsDefinition) {
  const bool held = rc::check("glob_match equals the slow reference", [] {
    const auto pattern_part =
        rc::gen::weightedOneOf<std::string>({{3, pieces({"a", "b", "*", "?", "[ab]", "[!a]"}, 4)},
                                             {1, rc::gen::just<std::string>("**")}});
    const auto patterns =
        *rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 5), [=](std::size_t count) {
          return rc::gen::container<std::vector<std::string>>(count, pattern_part);
        });
    const auto names = *rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 5), [](std::size_t count) {
      return rc::gen::container<std::vector<std::string>>(count, pieces({"a", "b", "c"}, 3));
    });
    std::string pattern;
    for (const auto& part : patterns) pattern += (pattern.empty() ? "" : "/") + part;
    std::string path;
    for (const auto& name : names) path += (path.empty() ? "" : "/") + name;
    const bool expected = patterns.size() == 1
                              ? slow_component(pattern, names.back())
                              : slow_parts(split(pattern, '/'), 0, split(path, '/'), 0);
    RC_CLASSIFY(expected);
    RC_ASSERT(glob_match(pattern, path) == expected);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace cordon
