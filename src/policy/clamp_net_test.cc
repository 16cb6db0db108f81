#include "policy/clamp_net.h"

#include <gtest/gtest.h>

#include "policy/decide_net.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

NetRules allowing(std::initializer_list<const char*> rules) {
  NetRules net;
  net.mode = NetMode::Allow;
  for (const char* rule : rules) net.allow.push_back(parse_host_rule(rule).value());
  return net;
}

NetRules met(std::initializer_list<const char*> asked, std::initializer_list<const char*> bound) {
  Ceiling ceiling;
  ceiling.policy.net = allowing(bound);
  return narrow_net(allowing(asked), {&ceiling, 1});
}

Address address_of(std::string_view text) {
  const bool four = text.find(':') == std::string_view::npos;
  const std::string written = four ? std::string(text) : "[" + std::string(text) + "]";
  return {four ? Address::Family::V4 : Address::Family::V6,
          parse_host_rule(written).value().address};
}

bool admits(const NetRules& net, const char* address, std::uint16_t port,
            std::initializer_list<const char*> own = {}) {
  std::vector<Address> addresses;
  for (const char* text : own) addresses.push_back(address_of(text));
  return decide_literal(net, address_of(address), port, addresses).allowed;
}

TEST(NarrowNet, LocalhostAndItsAddressesMeet) {
  EXPECT_TRUE(admits(met({"127.0.0.1:80"}, {"localhost:80"}), "127.0.0.1", 80));
  EXPECT_TRUE(admits(met({"localhost:80"}, {"127.0.0.1:80"}), "127.0.0.1", 80));
  EXPECT_TRUE(admits(met({"[::1]:80"}, {"localhost:80"}), "::1", 80));
  // Never wider than either.
  EXPECT_FALSE(admits(met({"localhost:80"}, {"127.0.0.1:80"}), "::1", 80));
  EXPECT_FALSE(admits(met({"localhost:80"}, {"127.0.0.1:80"}), "127.0.0.2", 80));
  EXPECT_FALSE(admits(met({"localhost:80"}, {"127.0.0.1:81"}), "127.0.0.1", 80));
}

TEST(NarrowNet, ACeilingThatDoesNotNameTheHostsLoopbackDoesNotGiveIt) {
  for (const char* bound : {"0.0.0.0/0", "0.0.0.0/0:80", "127.0.0.0/8:80", "127.0.0.1",
                            "127.0.0.1/32:80", "127.0.0.1:79-80", "localhost", "localhost:1-80"}) {
    EXPECT_FALSE(admits(allowing({bound}), "127.0.0.1", 80)) << bound;
    EXPECT_FALSE(admits(met({"127.0.0.1:80"}, {bound}), "127.0.0.1", 80)) << bound;
    EXPECT_FALSE(admits(met({"localhost:80"}, {bound}), "127.0.0.1", 80)) << bound;
    EXPECT_FALSE(admits(met({bound}, {"127.0.0.1:80"}), "127.0.0.1", 80)) << bound;
  }
  EXPECT_FALSE(admits(met({"127.0.0.1:80-81"}, {"127.0.0.1:79-80"}), "127.0.0.1", 80));
  EXPECT_TRUE(admits(met({"127.0.0.1:80"}, {"127.0.0.1:80"}), "127.0.0.1", 80));
}

TEST(NarrowNet, ARangeInACeilingDoesNotNameWhatHasToBeNamed) {
  for (const char* address : {"169.254.169.254", "169.254.1.1", "224.0.0.1", "240.0.0.1"}) {
    EXPECT_TRUE(admits(allowing({address}), address, 80)) << address;
    EXPECT_TRUE(admits(met({address}, {address}), address, 80)) << address;
    EXPECT_FALSE(admits(met({address}, {"0.0.0.0/0"}), address, 80)) << address;
    EXPECT_FALSE(admits(met({"0.0.0.0/0"}, {address}), address, 80)) << address;
  }
  // Of this host's own addresses only who connects knows.
  EXPECT_FALSE(admits(met({"10.0.0.5"}, {"10.0.0.0/8"}), "10.0.0.5", 80, {"10.0.0.5"}));
  EXPECT_TRUE(admits(met({"10.0.0.5"}, {"10.0.0.5"}), "10.0.0.5", 80, {"10.0.0.5"}));
  EXPECT_TRUE(admits(met({"10.0.0.5"}, {"10.0.0.0/8"}), "10.0.0.5", 80));
}

TEST(NarrowNet, ARangeBesideANamedAddressDoesNotSwallowIt) {
  Ceiling open;
  open.bounds_net = false;
  const NetRules net = narrow_net(allowing({"169.254.0.0/16", "169.254.169.254"}), {&open, 1});
  EXPECT_TRUE(admits(net, "169.254.169.254", 80));
}

TEST(NarrowNet, ADenyOfLocalhostHoldsForItsAddresses) {
  NetRules net = allowing({"127.0.0.1:80"});
  EXPECT_TRUE(admits(net, "127.0.0.1", 80));
  net.deny = {parse_host_rule("localhost").value()};
  EXPECT_FALSE(admits(net, "127.0.0.1", 80));
}

TEST(NarrowNet, PublishesOnlyWhatEveryCeilingLists) {
  NetRules asked;
  asked.publish = {{8080, 8080}, {9000, 90}};
  Ceiling ceiling;
  EXPECT_TRUE(narrow_net(asked, {&ceiling, 1}).publish.empty());
  ceiling.policy.net.publish = {{8080, 8080}, {9000, 91}};
  EXPECT_EQ(narrow_net(asked, {&ceiling, 1}).publish, (std::vector<PublishRule>{{8080, 8080}}));
  ceiling.policy.net.publish.clear();
  ceiling.policy.net.mode = share_the_hosts_network();
  EXPECT_EQ(narrow_net(asked, {&ceiling, 1}).publish, asked.publish);
  // What nobody asked for is not published.
  NetRules open;
  open.mode = share_the_hosts_network();
  Ceiling narrower;
  narrower.policy.net = allowing({});
  narrower.policy.net.publish = {{8080, 8080}};
  EXPECT_TRUE(narrow_net(open, {&narrower, 1}).publish.empty());
}

}  // namespace
}  // namespace cordon
