#include "policy/decide_net.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "policy/net_rules.h"

namespace cordon {
namespace {

Address address(const char* text) {
  Address result;
  if (::inet_pton(AF_INET, text, result.bytes.data()) == 1) return result;
  result.family = Address::Family::V6;
  EXPECT_EQ(::inet_pton(AF_INET6, text, result.bytes.data()), 1) << text;
  return result;
}

NetRules rules(std::initializer_list<const char*> allow,
               std::initializer_list<const char*> deny = {}) {
  NetRules net;
  net.mode = NetMode::Allow;
  for (const char* text : allow) net.allow.push_back(parse_host_rule(text).value());
  for (const char* text : deny) net.deny.push_back(parse_host_rule(text).value());
  return net;
}

bool literal(const NetRules& net, const char* text, std::uint16_t port = 80) {
  return decide_literal(net, address(text), port, {}).allowed;
}

bool resolved(const NetRules& net, const char* text, std::uint16_t port = 80) {
  const Verdict by_name = decide_connect(net, "a.example", port, {});
  return decide_resolved(net, by_name, address(text), port, {}).allowed;
}

TEST(DecideLiteral, NeedsARuleForAddresses) {
  EXPECT_TRUE(literal(rules({"93.184.216.34"}), "93.184.216.34"));
  EXPECT_TRUE(literal(rules({"93.184.0.0/16"}), "::ffff:93.184.216.34"));
  EXPECT_FALSE(literal(rules({"a.example"}), "93.184.216.34"));
  EXPECT_FALSE(literal(rules({"93.184.216.34:443"}), "93.184.216.34"));
  EXPECT_FALSE(literal(rules({}), "93.184.216.34"));
}

TEST(DecideLiteral, ARangeAdmitsOnlyPublicAndPrivatePlaces) {
  const NetRules everything = rules({"0.0.0.0/0", "[::]/0"});
  EXPECT_TRUE(literal(everything, "93.184.216.34"));
  EXPECT_TRUE(literal(everything, "10.0.0.1"));
  EXPECT_TRUE(literal(everything, "2606:4700::1"));
  for (const char* text : {"169.254.169.254", "169.254.1.1", "224.0.0.1", "255.255.255.255",
                           "240.0.0.1", "127.0.0.1", "0.0.0.0", "::1", "::", "fe80::1", "ff02::1",
                           "fd00:ec2::254", "64:ff9b:1::1", "168.63.129.16"}) {
    EXPECT_FALSE(literal(everything, text)) << text;
  }
  EXPECT_TRUE(literal(rules({"169.254.169.254"}), "169.254.169.254"));
  EXPECT_TRUE(literal(rules({"[fe80::1]"}), "fe80::1"));
}

TEST(DecideLiteral, ATunnelNeedsARuleForItsEnd) {
  EXPECT_FALSE(literal(rules({"[::]/0"}), "64:ff9b::10.0.0.1"));
  EXPECT_TRUE(literal(rules({"[::]/0", "10.0.0.0/8"}), "64:ff9b::10.0.0.1"));
  EXPECT_FALSE(literal(rules({"[::]/0", "169.254.0.0/16"}), "2002:a9fe:a9fe::1"));
  EXPECT_TRUE(literal(rules({"[::]/0"}), "64:ff9b::93.184.216.34"));
  EXPECT_FALSE(literal(rules({"[::]/0"}, {"93.184.216.34"}), "64:ff9b::93.184.216.34"));
}

TEST(DecideLiteral, AnAddressOfThisHostNeedsARuleOfItsOwn) {
  const std::vector<Address> own = {address("192.168.1.5"), address("93.184.216.34")};
  const NetRules range = rules({"192.168.1.0/24", "93.0.0.0/8"});
  EXPECT_TRUE(decide_literal(range, address("192.168.1.6"), 80, own).allowed);
  EXPECT_FALSE(decide_literal(range, address("192.168.1.5"), 80, own).allowed);
  EXPECT_FALSE(decide_literal(range, address("::ffff:93.184.216.34"), 80, own).allowed);
  EXPECT_TRUE(decide_literal(rules({"192.168.1.5"}), address("192.168.1.5"), 80, own).allowed);
}

TEST(DecideResolved, APublicAddressIsAdmittedWithItsName) {
  EXPECT_TRUE(resolved(rules({"a.example:80"}), "93.184.216.34"));
  EXPECT_FALSE(resolved(rules({"a.example:80"}), "93.184.216.34", 443));
  EXPECT_FALSE(resolved(rules({"b.example"}), "93.184.216.34"));
  EXPECT_FALSE(resolved(rules({"a.example"}, {"93.184.216.34"}), "93.184.216.34"));
}

TEST(DecideResolved, AnyOtherAddressNeedsItsOwnRuleToo) {
  for (const char* text :
       {"10.0.0.1", "127.0.0.1", "0.0.0.0", "169.254.169.254", "224.0.0.1", "::1", "fe80::1",
        "fc00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "198.18.0.1"}) {
    EXPECT_FALSE(resolved(rules({"a.example"}), text)) << text;
  }
  EXPECT_TRUE(resolved(rules({"a.example", "10.0.0.0/8"}), "10.0.0.1"));
  EXPECT_FALSE(resolved(rules({"a.example", "10.0.0.0/8:443"}), "10.0.0.1"));
  EXPECT_FALSE(resolved(rules({"b.example", "10.0.0.0/8"}), "10.0.0.1"));
}

TEST(DecideResolved, ANameThatLeadsToThisHostIsRefused) {
  const std::vector<Address> own = {address("93.184.216.34")};
  const NetRules net = rules({"a.example"});
  const Verdict by_name = decide_connect(net, "a.example", 80, own);
  const Verdict verdict = decide_resolved(net, by_name, own.front(), 80, own);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reason, "the name leads to this host itself");
}

TEST(HostLoopback, NeedsARuleThatNamesItAndOnePort) {
  const auto reaches = [](const NetRules& net, const char* text) {
    return reaches_host_loopback(net, address(text), 80) != nullptr;
  };
  for (const char* rule : {"127.0.0.1:80", "localhost:80", "app.localhost:80"}) {
    EXPECT_TRUE(reaches(rules({rule}), "127.0.0.1")) << rule;
    EXPECT_TRUE(reaches(rules({rule}), "::ffff:127.0.0.1")) << rule;
  }
  EXPECT_TRUE(reaches(rules({"[::1]:80"}), "::1"));
  for (const char* rule :
       {"127.0.0.1", "127.0.0.0/8:80", "127.0.0.1/32:80", "127.0.0.1:1-80", "127.0.0.2:80",
        "127.0.0.1:81", "0.0.0.0/0:80", "96.0.0.0/3:80", "localhost", "a.example:80"}) {
    EXPECT_FALSE(reaches(rules({rule}), "127.0.0.1")) << rule;
  }
  EXPECT_FALSE(reaches(rules({"[::]/0:80"}), "::1"));
  EXPECT_FALSE(reaches(rules({"127.0.0.1:80"}, {"127.0.0.1:80"}), "127.0.0.1"));
  EXPECT_FALSE(reaches(rules({"10.0.0.1:80"}), "10.0.0.1"));
}

TEST(KnownName, HasAPortThatIsNotDenied) {
  EXPECT_TRUE(is_known_name(rules({"a.example:80"}), "a.example"));
  EXPECT_TRUE(is_known_name(rules({"*.example.org"}), "b.a.example.org"));
  EXPECT_FALSE(is_known_name(rules({"*.example.org"}), "example.org"));
  EXPECT_FALSE(is_known_name(rules({"*.example.org"}), "evilexample.org"));
  EXPECT_FALSE(is_known_name(rules({"a.example"}, {"a.example"}), "a.example"));
  EXPECT_FALSE(
      is_known_name(rules({"a.example:80"}, {"a.example:1-79", "a.example:80-90"}), "a.example"));
  EXPECT_TRUE(is_known_name(rules({"a.example:80-90"}, {"a.example:80-89"}), "a.example"));
  EXPECT_FALSE(is_known_name(rules({"a.example:80-90"}, {"a.example:85-90", "a.example:80-84"}),
                             "a.example"));
  EXPECT_FALSE(is_known_name(rules({"10.0.0.1"}), "10.0.0.1"));
  EXPECT_FALSE(is_known_name(rules({"a.example"}), "evil\\000.a.example"));
  NetRules none = rules({"a.example"});
  none.mode = NetMode::None;
  EXPECT_FALSE(is_known_name(none, "a.example"));
}

}  // namespace
}  // namespace cordon
