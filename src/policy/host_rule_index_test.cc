#include "policy/host_rule_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/clamp.h"
#include "policy/clamp_net.h"
#include "policy/net_rules.h"
#include "support/property.h"

namespace cordon {
namespace {

using Rules = std::vector<HostRule>;

// Few hosts and few ports, so that most rules stand in some relation to another one.
rc::Gen<HostRule> any_rule() {
  const std::vector<std::string> hosts{
      "a.test",    "b.a.test",    "*.a.test",    "*.test.x",       "c.b.a.test",  "*.b.a.test",
      "localhost", "x.localhost", "127.0.0.1",   "127.0.0.1/32",   "127.0.0.0/8", "0.0.0.0/0",
      "10.1.2.3",  "10.1.2.3/32", "10.1.0.0/16", "10.0.0.0/8",     "[::1]",       "[::]/0",
      "[fd00::1]", "[fd00::]/16", "169.254.1.1", "169.254.0.0/16", "y.test.x",    "xa.test"};
  const std::vector<std::string> ports{"", ":80", ":81", ":80-81", ":80-90", ":1-80", ":81-90"};
  return rc::gen::map(
      rc::gen::pair(rc::gen::elementOf(hosts), rc::gen::elementOf(ports)),
      [](const auto& parts) { return parse_host_rule(parts.first + parts.second).value(); });
}

rc::Gen<Rules> any_rules() { return rc::gen::resize(12, rc::gen::container<Rules>(any_rule())); }

// What each pair says, asked of all pairs.

Rules reduced(Rules rules) {
  detail::sort_unique(rules);
  Rules kept;
  for (const HostRule& rule : rules) {
    if (std::ranges::none_of(rules, [&](const HostRule& other) {
          return other != rule && makes_needless(other, rule);
        })) {
      kept.push_back(rule);
    }
  }
  return kept;
}

Rules met(const Rules& a, const Rules& b) {
  Rules both;
  for (const HostRule& left : a)
    for (const HostRule& right : b)
      if (auto rule = intersect(left, right)) both.push_back(*rule);
  return reduced(std::move(both));
}

NetRules allowing(Rules rules) {
  NetRules net;
  net.mode = NetMode::Allow;
  net.allow = std::move(rules);
  return net;
}

std::vector<std::string> texts(const Rules& rules) {
  std::vector<std::string> out;
  for (const HostRule& rule : rules) out.push_back(to_string(rule));
  return out;
}

TEST(HostRuleIndex, SaysOfEveryRuleWhatAllPairsSay) {
  int covered = 0;
  testing::check_cases(3000, [&](void) {
    const Rules rules = *any_rules();
    const HostRule rule = *any_rule();
    const HostRuleIndex index(rules);
    const auto any = [&](auto relation) { return std::ranges::any_of(rules, relation); };
    const bool covers_it = any([&](const HostRule& other) { return covers(other, rule); });
    covered += covers_it ? 1 : 0;
    RC_ASSERT(index.any_covers(rule) == covers_it);
    RC_ASSERT(index.any_makes_needless(rule) ==
              any([&](const HostRule& other) { return makes_needless(other, rule); }));
    Rules within;
    for (const HostRule& other : rules)
      if (covers(rule, other)) within.push_back(other);
    Rules found;
    for (const HostRule* other : index.covered_by(rule)) found.push_back(*other);
    RC_ASSERT(texts(found) == texts(within));
  });
  EXPECT_GT(covered, testing::in_this_build(300));
}

TEST(HostRuleIndex, TheNarrowedListIsThatOfAllPairs) {
  int shared = 0;
  testing::check_cases(3000, [&](void) {
    const Rules asked = *any_rules();
    const Rules bound = *any_rules();
    Ceiling ceiling;
    ceiling.policy.net = allowing(bound);
    const Rules expected = met(reduced(asked), bound);
    shared += expected.empty() ? 0 : 1;
    // The clamp reduces what was asked for before it meets the ceiling; the meet alone does not.
    RC_ASSERT(texts(narrow_net(allowing(reduced(asked)), {&ceiling, 1}).allow) == texts(expected));
    RC_ASSERT(texts(narrow_net(allowing(asked), {&ceiling, 1}).allow) == texts(met(asked, bound)));
  });
  EXPECT_GT(shared, testing::in_this_build(300));
}

// How many rules are looked at for all of a list, whatever its length.
std::size_t looked_at(std::size_t count) {
  Rules rules;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    rules.push_back(parse_host_rule("h" + number + ".corp" + std::to_string(i % 100) +
                                    ".test:" + std::to_string(1 + i % 60000))
                        .value());
    rules.push_back(parse_host_rule("one.test:" + std::to_string(1 + i % 60000)).value());
  }
  const HostRuleIndex index(rules);
  std::size_t looked = 0;
  for (const HostRule& rule : rules) {
    index.visit_around(rule, [&](const HostRule&) { ++looked; });
    looked += index.covered_by(rule).size();
  }
  return looked;
}

TEST(HostRuleIndex, LooksAtAsManyRulesAsThereAre) {
  EXPECT_EQ(looked_at(5000), 4U * 5000);
  EXPECT_EQ(looked_at(20000), 4U * 20000);
}

}  // namespace
}  // namespace cordon
