#include "policy/deny_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>

#include "base/path.h"
#include "support/property.h"

namespace cordon {
namespace {

using cordon::testing::check_cases;

// Small alphabets, so that patterns and paths meet.
rc::Gen<std::string> name() {
  return rc::gen::element<std::string>("a", "b", "ab", "a.key", "b.key", ".env", ".env.local", "c");
}
rc::Gen<std::string> last_pattern() {
  return rc::gen::element<std::string>("a", "*.key", ".env*", "*", "?", "a*b", "[ab]", "**",
                                       "a.key", "*b", "ab");
}
rc::Gen<std::string> path() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(name()),
                      [](const std::vector<std::string>& names) {
                        std::string made;
                        for (const std::string& one : names) made += "/" + one;
                        return made.empty() ? std::string("/") : made;
                      });
}
rc::Gen<DenyGlob> deny() {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 5), path(), last_pattern(), name()),
                      [](const std::tuple<int, std::string, std::string, std::string>& made) {
                        const auto& [kind, anchor, last, middle] = made;
                        switch (kind) {
                          case 0:
                            return DenyGlob{middle == "a" ? "**/" + last : last, "", last};
                          case 1:
                            return DenyGlob{anchor, anchor, ""};
                          case 2:
                            return DenyGlob{last, anchor, last};
                          case 3:
                            return DenyGlob{last, anchor, "**/" + last};
                          default:
                            return DenyGlob{last, anchor, middle + "/*/" + last};
                        }
                      });
}

const DenyGlob* slow(const std::vector<DenyGlob>& denies, const auto& matches) {
  const auto found = std::ranges::find_if(denies, matches);
  return found == denies.end() ? nullptr : &*found;
}

TEST(DenyIndex, GivesTheVerdictsOfTheList) {
  int met = 0;
  check_cases(4000, [&] {
    const auto denies = *rc::gen::container<std::vector<DenyGlob>>(deny());
    const std::string asked = *path();
    if (asked == "/") return;
    const DenyIndex index(denies);
    const auto names = [&](const DenyGlob& one) { return deny_matches(one, asked); };
    const DenyGlob* const expected = slow(denies, names);
    met += expected != nullptr ? 1 : 0;
    RC_ASSERT(index.find(asked) == expected);
    RC_ASSERT(index.find_any_depth(basename(asked)) == slow(denies, [&](const DenyGlob& one) {
                return one.anchor.empty() && glob_match(one.pattern, basename(asked));
              }));
    RC_ASSERT(index.find_anchored(asked) == slow(denies, [&](const DenyGlob& one) {
                return !one.anchor.empty() && deny_matches(one, asked);
              }));
    RC_ASSERT(index.find_with_parents(asked) == slow(denies, [&](const DenyGlob& one) {
                if (deny_matches(one, asked)) return true;
                const bool above = !one.anchor.empty() || one.written.starts_with("**/");
                for (std::string_view up = asked; above && up != "/";) {
                  up = parent(up);
                  if (deny_matches(one, up)) return true;
                }
                return false;
              }));
    const auto below = [&](const DenyGlob& one) {
      if (one.anchor.empty()) return true;
      if (one.pattern.empty()) return asked != one.anchor && contains(asked, one.anchor);
      return contains(asked, one.anchor) || contains(one.anchor, asked);
    };
    RC_ASSERT(index.may_deny_below(asked) == std::ranges::any_of(denies, below));
  });
  EXPECT_GT(met, 100);
}

TEST(DenyIndex, TwentyThousandDeniesAreNoMoreToAskThanAFew) {
  std::vector<DenyGlob> denies;
  for (int i = 0; i < 20'000; ++i) {
    const std::string number = std::to_string(i);
    denies.push_back({"", "", "*.s" + number});
    denies.push_back({"", "/p", "**/secret" + number + "*"});
  }
  const DenyIndex index(denies);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(index.find("/p/a/b/file" + std::to_string(i)), nullptr);
  }
  EXPECT_NE(index.find("/p/a/b/secret19999.txt"), nullptr);
  // One by one this takes minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace cordon
