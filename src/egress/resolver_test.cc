#include "egress/names.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/net_rules.h"

namespace cordon {
namespace {

DnsBytes query(std::string_view name, std::uint16_t type, std::uint16_t flags = 0x0100) {
  DnsBytes out = {0x12,
                  0x34,
                  static_cast<std::uint8_t>(flags >> 8),
                  static_cast<std::uint8_t>(flags),
                  0,
                  1,
                  0,
                  0,
                  0,
                  0,
                  0,
                  0};
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    out.push_back(static_cast<std::uint8_t>(label.size()));
    out.insert(out.end(), label.begin(), label.end());
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  for (const unsigned byte : {0U, unsigned{type} >> 8U, unsigned{type} & 0xffU, 0U, 1U}) {
    out.push_back(static_cast<std::uint8_t>(byte));
  }
  return out;
}

struct Inside {
  explicit Inside(Resolver::Ipv6 ipv6 = Resolver::Ipv6::Yes)
      : resolver(rules, names, attempts, ipv6) {
    live->replace({.mode = NetMode::Allow,
                   .allow = {parse_host_rule("good.example:443").value(),
                             parse_host_rule("*.wide.example").value()}});
  }
  std::shared_ptr<LiveRules> live = std::make_shared<LiveRules>(NetRules{});
  RulesSource rules{live, {}};
  SyntheticNames names;
  Attempts attempts;
  Resolver resolver;
};

unsigned code(const DnsBytes& answer) { return answer.size() < 12 ? 99 : answer[3] & 0xfU; }
unsigned answers(const DnsBytes& answer) { return answer.size() < 12 ? 99 : answer[7]; }

std::string last_address(const DnsBytes& answer, Address::Family family) {
  const std::size_t size = family == Address::Family::V4 ? 4 : 16;
  Address address;
  address.family = family;
  std::copy(answer.end() - static_cast<std::ptrdiff_t>(size), answer.end(), address.bytes.begin());
  return to_string(address);
}

TEST(Resolver, HeedsRulesThatWereReplaced) {
  Inside inside;
  EXPECT_EQ(answers(inside.resolver.answer(query("good.example", kDnsTypeA))), 1U);
  inside.live->replace(
      {.mode = NetMode::Allow, .allow = {parse_host_rule("other.example").value()}});
  EXPECT_EQ(answers(inside.resolver.answer(query("good.example", kDnsTypeA))), 0U);
  EXPECT_EQ(answers(inside.resolver.answer(query("other.example", kDnsTypeA))), 1U);
}

TEST(Resolver, GivesAnAllowedNameAnAddressThatLeadsBackToIt) {
  Inside inside;
  const DnsBytes four = inside.resolver.answer(query("Good.Example", kDnsTypeA));
  ASSERT_EQ(code(four), 0U);
  ASSERT_EQ(answers(four), 1U);
  EXPECT_EQ(four[0], 0x12);
  EXPECT_EQ(four[1], 0x34);
  EXPECT_EQ(last_address(four, Address::Family::V4), "198.18.0.1");
  const DnsBytes six = inside.resolver.answer(query("good.example", kDnsTypeAaaa));
  EXPECT_EQ(last_address(six, Address::Family::V6), "fd63:6f72:646f:6e00::1");
  EXPECT_EQ(inside.names.name_of({Address::Family::V4, {198, 18, 0, 1}}), "good.example");
  const DnsBytes other = inside.resolver.answer(query("a.wide.example", kDnsTypeA));
  EXPECT_EQ(last_address(other, Address::Family::V4), "198.18.0.2");
  const DnsBytes again = inside.resolver.answer(query("good.example", kDnsTypeA));
  EXPECT_EQ(last_address(again, Address::Family::V4), "198.18.0.1");
}

TEST(Resolver, OtherNamesDoNotExist) {
  Inside inside;
  for (const char* name : {"evil.example", "evilgood.example", "wide.example", "example", "",
                           "good.example.evil.test", "1.0.0.127.in-addr.arpa"}) {
    const DnsBytes answer = inside.resolver.answer(query(name, kDnsTypeA));
    EXPECT_EQ(code(answer), 3U) << name;
    EXPECT_EQ(answers(answer), 0U) << name;
  }
  EXPECT_FALSE(inside.names.name_of({Address::Family::V4, {198, 18, 0, 1}}));
}

TEST(Resolver, ABytePastTheNameDoesNotMakeItAnother) {
  Inside inside;
  const std::string_view with_nul("evil\0.wide.example", 18);
  EXPECT_EQ(code(inside.resolver.answer(query(with_nul, kDnsTypeA))), 3U);
  EXPECT_EQ(code(inside.resolver.answer(query("evil.test\\.wide.example", kDnsTypeA))), 3U);
}

TEST(Resolver, KnowsLoopbackWithoutARule) {
  Inside inside;
  const DnsBytes four = inside.resolver.answer(query("localhost", kDnsTypeA));
  EXPECT_EQ(last_address(four, Address::Family::V4), "127.0.0.1");
  const DnsBytes six = inside.resolver.answer(query("app.localhost", kDnsTypeAaaa));
  EXPECT_EQ(last_address(six, Address::Family::V6), "::1");
}

TEST(Resolver, HasNoOtherRecordsAndNoIpv6WhereTheHostHasNone) {
  Inside inside(Resolver::Ipv6::No);
  for (const std::uint16_t type : {std::uint16_t{28}, std::uint16_t{15}, std::uint16_t{65}}) {
    const DnsBytes answer = inside.resolver.answer(query("good.example", type));
    EXPECT_EQ(code(answer), 0U);
    EXPECT_EQ(answers(answer), 0U);
  }
  EXPECT_EQ(answers(inside.resolver.answer(query("good.example", kDnsTypeA))), 1U);
}

TEST(Resolver, OtherKindsOfMessagesAreNotServed) {
  Inside inside;
  EXPECT_EQ(code(inside.resolver.answer(query("good.example", kDnsTypeA, 0x2900))), 4U);
  EXPECT_TRUE(inside.resolver.answer(query("good.example", kDnsTypeA, 0x8100)).empty());
  EXPECT_TRUE(inside.resolver.answer({}).empty());
  DnsBytes cut = query("good.example", kDnsTypeA);
  while (!cut.empty()) {
    cut.pop_back();
    EXPECT_TRUE(inside.resolver.answer(cut).empty()) << cut.size();
  }
}

TEST(Resolver, SurvivesWhateverIsSent) {
  EXPECT_TRUE(rc::check("any bytes behind a header of one question", [](DnsBytes tail) {
    Inside inside;
    DnsBytes message = {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    message.insert(message.end(), tail.begin(), tail.end());
    const DnsBytes answer = inside.resolver.answer(message);
    RC_ASSERT(answer.empty() || code(answer) == 3U || code(answer) == 4U);
  }));
}

TEST(Resolver, RemembersUnknownNamesOnce) {
  Inside inside;
  for (int i = 0; i < 3; ++i) (void)inside.resolver.answer(query("evil.example", kDnsTypeA));
  (void)inside.resolver.answer(query("4.3.2.1.in-addr.arpa", kDnsTypePtr));
  const std::vector<Denial> denials = inside.attempts.denials("net.mode = \"allow\"");
  ASSERT_EQ(denials.size(), 1U);
  EXPECT_EQ(denials.front(), (Denial{"resolve", "evil.example: no rule allows this name", "broker",
                                     3, "evil.example:443", "connect", "net.mode = \"allow\""}));
}

TEST(SyntheticNames, AreBounded) {
  SyntheticNames names;
  int made = 0;
  while (names.address_of(std::to_string(made), Address::Family::V4)) ++made;
  EXPECT_EQ(made, 65'000);
  EXPECT_TRUE(names.address_of("7", Address::Family::V6)) << "known names keep their address";
  const auto last = names.address_of(std::to_string(made - 1), Address::Family::V4);
  EXPECT_EQ(names.name_of(*last), std::to_string(made - 1));
}

TEST(SyntheticNames, OnlyAddressesThatWereGivenOutLeadBack) {
  SyntheticNames names;
  (void)names.address_of("a.example", Address::Family::V4);
  for (const std::array<std::uint8_t, 16>& bytes : {std::array<std::uint8_t, 16>{198, 18, 0, 2},
                                                    {198, 18, 0, 0},
                                                    {198, 19, 0, 1},
                                                    {10, 18, 0, 1}}) {
    EXPECT_FALSE(names.name_of({Address::Family::V4, bytes}));
  }
  EXPECT_TRUE(SyntheticNames::holds({Address::Family::V4, {198, 19, 255, 255}}));
  EXPECT_FALSE(SyntheticNames::holds({Address::Family::V4, {198, 20, 0, 0}}));
}

}  // namespace
}  // namespace cordon
