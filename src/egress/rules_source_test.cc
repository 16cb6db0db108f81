#include "egress/rules.h"

#include <gtest/gtest.h>

#include "policy/net_rules.h"

namespace cordon {
namespace {

NetRules allowing(const char* rule) {
  NetRules net;
  net.mode = NetMode::Allow;
  net.allow = {parse_host_rule(rule).value()};
  return net;
}

TEST(RulesSource, NarrowsWithTheCeilingsOfTheMoment) {
  std::vector<Ceiling> ceilings(1);
  ceilings[0].policy.net = allowing("*.example.com");
  const RulesSource source(allowing("a.example.com"), [&] { return ceilings; });
  EXPECT_EQ(source.now()->allow.size(), 1U);
  ceilings[0].policy.net = allowing("b.example.com");
  EXPECT_TRUE(source.now()->allow.empty());
  ceilings[0].policy.net = {};
  EXPECT_EQ(source.now()->mode, NetMode::None);
  // Wider than at the start it never becomes.
  ceilings[0].policy.net.mode = share_the_hosts_network();
  EXPECT_EQ(*source.now(), allowing("a.example.com"));
}

TEST(RulesSource, CeilingsThatCannotBeReadPermitNothing) {
  const RulesSource source(allowing("a.example.com"), []() -> Result<std::vector<Ceiling>> {
    return fail(policy_error("unreadable"));
  });
  EXPECT_EQ(*source.now(), NetRules{});
  EXPECT_EQ(*RulesSource(allowing("a.example.com")).now(), allowing("a.example.com"));
}

}  // namespace
}  // namespace cordon
