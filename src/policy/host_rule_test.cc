#include "policy/net_rules.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace cordon {
namespace {

using testing::check_cases;

HostRule rule(std::string_view text) {
  auto parsed = parse_host_rule(text);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : message(parsed.error()));
  return parsed.value_or(HostRule{});
}

TEST(HostRule, ReadsEveryFormOnce) {
  for (const char* text :
       {"example.com", "example.com:443", "*.github.com", "*.github.com:8000-8099", "localhost",
        "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "10.1.0.0/16:5432", "10.0.0.0/8",
        "[fd00::]/8:443", "[2001:db8::1]", "0.0.0.0/0", "xn--bcher-kva.example", "db_1.internal",
        "1password.com", "example.com:65535", "3com.com"}) {
    EXPECT_EQ(to_string(rule(text)), text);
  }
}

TEST(HostRule, BringsSpellingsOfOneThingTogether) {
  EXPECT_EQ(rule("Example.COM."), rule("example.com"));
  EXPECT_EQ(rule("*.Example.com."), rule("*.example.com"));
  EXPECT_EQ(rule("[FD00:0:0::1]"), rule("[fd00::1]"));
  EXPECT_EQ(rule("example.com:443-443"), rule("example.com:443"));
  EXPECT_NE(rule("10.1.2.3/32"), rule("10.1.2.3"));
}

TEST(HostRule, UnmapsIpv4InsideIpv6) {
  EXPECT_EQ(rule("[::ffff:127.0.0.1]:80"), rule("127.0.0.1:80"));
  EXPECT_EQ(rule("[::ffff:10.0.0.0]/104"), rule("10.0.0.0/8"));
  EXPECT_EQ(rule("[::ffff:7f00:1]"), rule("127.0.0.1"));
}

TEST(HostRule, RefusesIpv4HiddenInTranslatedAddresses) {
  for (const char* text :
       {"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2002::]/16", "[2001:0:1::1]"}) {
    EXPECT_FALSE(parse_host_rule(text).has_value()) << text;
  }
  EXPECT_TRUE(parse_host_rule("[2001:4860:4860::8888]").has_value());
}

TEST(HostRule, RefusesWildcardsThatCoverTooMuchOrSitElsewhere) {
  for (const char* text : {"*", "*:443", "*.com", "*.com:443", "a.*.com", "*a.example.com",
                           "**.example.com", "*.*.example.com", "example.*", "*.", "*.10.0.0.1"}) {
    EXPECT_FALSE(parse_host_rule(text).has_value()) << text;
  }
}

TEST(HostRule, RefusesOddSpellingsOfAddresses) {
  for (const char* text :
       {"2130706433", "0177.0.0.1",  "0x7f.0.0.1",   "0x7f000001",  "127.1",       "127.0.1",
        "127.0.0.01", "256.0.0.1",   "1.2.3.4.5",    "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/",
        "10.0.0.1/8", "[fd00::1]/8", "[fd00::]/129", "::1",         "fe80::1",     "[fe80::1%lo]",
        "[::1",       "::1]",        "[::1]x",       "[]",          "[1.2.3.4]",   "1.2.3.4:",
        "a.0x1",      "host.1"}) {
    EXPECT_FALSE(parse_host_rule(text).has_value()) << text;
  }
}

TEST(HostRule, RefusesPortsOutOfRange) {
  for (const char* text :
       {"a.b:0", "a.b:65536", "a.b:65979", "a.b:", "a.b:-1", "a.b:80-", "a.b:90-80", "a.b:1-2-3",
        "a.b:443:80", "a.b:0443", "a.b:+1", "a.b: 1", "a.b:http"}) {
    EXPECT_FALSE(parse_host_rule(text).has_value()) << text;
  }
}

TEST(HostRule, RefusesWhatIsNotAName) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "."sv, "a..b"sv, ".a.b"sv, "a.b.."sv, "-a.b"sv, "a-.b"sv, "a b"sv, "a\tb"sv,
        "a\0b.com"sv, "good@evil.com"sv, "http://a.b"sv, "a.b/path"sv, "a\\b"sv,
        "b\xC3\xBC"
        "cher.example"sv,
        "a%2e.b"sv, "a.b\n"sv}) {
    EXPECT_FALSE(parse_host_rule(text).has_value());
  }
  EXPECT_FALSE(parse_host_rule(std::string(64, 'a') + ".com").has_value());
  EXPECT_TRUE(parse_host_rule(std::string(63, 'a') + ".com").has_value());
  std::string longest;
  for (int i = 0; i < 127; ++i) longest += "a.";
  EXPECT_FALSE(parse_host_rule(longest + "aa").has_value());
  EXPECT_TRUE(parse_host_rule(longest.substr(0, 253)).has_value());
}

TEST(HostRule, NamesTheRuleAndTheCureWhenItRefuses) {
  const auto parsed = parse_host_rule("*.com");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().kind, ErrorKind::Policy);
  EXPECT_EQ(parsed.error().what, "host rule '*.com' covers a whole top-level domain");
  EXPECT_FALSE(parsed.error().hint.empty());
}

TEST(HostRuleMatch, RespectsLabelBoundaries) {
  EXPECT_TRUE(matches_name(rule("*.example.com"), "a.example.com", 443));
  EXPECT_TRUE(matches_name(rule("*.example.com"), "b.a.EXAMPLE.com.", 443));
  EXPECT_FALSE(matches_name(rule("*.example.com"), "evilexample.com", 443));
  EXPECT_FALSE(matches_name(rule("*.example.com"), "example.com", 443));
  EXPECT_TRUE(matches_name(rule("example.com"), "Example.com", 443));
  EXPECT_FALSE(matches_name(rule("example.com"), "a.example.com", 443));
}

TEST(HostRuleMatch, ComparesPorts) {
  EXPECT_TRUE(matches_name(rule("a.b:80-90"), "a.b", 90));
  EXPECT_FALSE(matches_name(rule("a.b:80-90"), "a.b", 91));
  EXPECT_TRUE(matches_name(rule("a.b"), "a.b", 65535));
}

TEST(HostRuleMatch, NeverMatchesANameWithOddBytes) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(matches_name(rule("*.example.com"), "evil.net\0.example.com"sv, 443));
  EXPECT_FALSE(matches_name(rule("*.example.com"), "evil.net/.example.com", 443));
  EXPECT_FALSE(matches_name(rule("*.example.com"), ".example.com", 443));
  EXPECT_FALSE(matches_name(rule("10.0.0.0/8"), "10.0.0.1", 443));
}

const std::vector<HostRule>& alphabet() {
  static const std::vector<HostRule> rules = [] {
    std::vector<HostRule> all;
    for (const char* host :
         {"x.org", "a.x.org", "b.a.x.org", "ax.org", "*.x.org", "*.a.x.org", "*.b.a.x.org",
          "0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "11.0.0.0/8", "[::]/0",
          "[fd00::]/8", "[fd00::1]", "localhost", "10.1.2.3/32", "127.0.0.1", "127.0.0.0/8"}) {
      for (const char* port : {"", ":443", ":400-500", ":450-600", ":1", ":65535"}) {
        all.push_back(rule(std::string(host) + port));
      }
    }
    return all;
  }();
  return rules;
}

// A target is one host and one port; membership is what the algebra is about.
std::vector<HostRule> targets() {
  std::vector<HostRule> all;
  for (const char* host :
       {"x.org", "a.x.org", "b.a.x.org", "c.b.a.x.org", "ax.org", "localhost", "10.1.2.3",
        "10.1.2.4", "10.2.0.0", "11.0.0.1", "[fd00::1]", "[::2]", "127.0.0.1"}) {
    for (const char* port : {":1", ":443", ":460", ":600", ":65535"}) {
      all.push_back(rule(std::string(host) + port));
    }
  }
  return all;
}

// The host's loopback is given only by a rule that names it, with one port.
bool admits(const HostRule& rule, const HostRule& point) {
  const bool loopback = point.name == "localhost" || point.address[0] == 127;
  const bool named = rule.kind == HostRule::Kind::Name || names_one_address(rule);
  return covers(rule, point) && (!loopback || (named && rule.first_port == rule.last_port));
}

// Every pair and every triple of the alphabet is tried, not a sample: a case that a sample meets
// once in a hundred runs would be found by the wrong person.
TEST(HostRuleProperty, IntersectionAdmitsExactlyWhatBothAdmit) {
  const auto points = targets();
  for (const HostRule& a : alphabet()) {
    for (const HostRule& b : alphabet()) {
      const auto both = intersect(a, b);
      ASSERT_EQ(both, intersect(b, a)) << to_string(a) << " and " << to_string(b);
      for (const HostRule& point : points) {
        ASSERT_EQ(both && admits(*both, point), admits(a, point) && admits(b, point))
            << to_string(a) << " and " << to_string(b) << " at " << to_string(point);
      }
    }
  }
}

TEST(HostRuleProperty, CoveringIsAnOrderAndAgreesWithIntersection) {
  const auto& rules = alphabet();
  std::vector<std::vector<std::size_t>> below(rules.size());
  for (std::size_t a = 0; a < rules.size(); ++a) {
    ASSERT_TRUE(makes_needless(rules[a], rules[a])) << to_string(rules[a]);
    for (std::size_t b = 0; b < rules.size(); ++b) {
      const bool needless = makes_needless(rules[a], rules[b]);
      const std::string pair = to_string(rules[a]) + " and " + to_string(rules[b]);
      ASSERT_EQ(needless, intersect(rules[a], rules[b]) == rules[b]) << pair;
      if (!needless) continue;
      below[a].push_back(b);
      ASSERT_TRUE(covers(rules[a], rules[b])) << pair;
      ASSERT_TRUE(!makes_needless(rules[b], rules[a]) || rules[a] == rules[b]) << pair;
    }
  }
  for (std::size_t a = 0; a < rules.size(); ++a) {
    for (const std::size_t b : below[a]) {
      for (const std::size_t c : below[b]) {
        ASSERT_TRUE(makes_needless(rules[a], rules[c]))
            << to_string(rules[a]) << ", " << to_string(rules[b]) << ", " << to_string(rules[c]);
      }
    }
  }
}

TEST(HostRuleProperty, IsReadBackFromItsTextUnchanged) {
  check_cases(2'000, [] {
    HostRule made = *rc::gen::elementOf(alphabet());
    made.first_port = *rc::gen::inRange<std::uint16_t>(1, 60000);
    made.last_port = static_cast<std::uint16_t>(made.first_port + *rc::gen::inRange(0, 5000));
    const auto parsed = parse_host_rule(to_string(made));
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == made);
  });
}

TEST(HostRuleProperty, ParsingHoldsForAnyBytes) {
  check_cases(5'000, [] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
        std::vector<std::string>{"*", ".", ":", "[", "]", "/", "-", "0", "1", "256", "x", "0x", "%",
                                 "::", "ffff", std::string(1, '\0'), "\xFF", "com", "@"}));
    std::string text;
    for (const auto& piece : pieces) text += piece;
    const auto parsed = parse_host_rule(text);
    if (parsed) RC_ASSERT(parse_host_rule(to_string(*parsed)).value() == *parsed);
  });
}

TEST(AllowHost, BeginsAListAndGoesOnWithIt) {
  NetRules net;
  net.allow = {*parse_host_rule("left-over.example")};
  net.allow_host(*parse_host_rule("a.example:443"));
  net.allow_host(*parse_host_rule("b.example:443"));
  EXPECT_EQ(net.mode, NetMode::Allow);
  EXPECT_EQ(net.allow,
            (std::vector{*parse_host_rule("a.example:443"), *parse_host_rule("b.example:443")}));
  net.mode = share_the_hosts_network();
  net.allow_host(*parse_host_rule("a.example:443"));
  EXPECT_EQ(net.mode, NetMode::Allow);
  EXPECT_EQ(net.allow, std::vector{*parse_host_rule("a.example:443")});
}

}  // namespace
}  // namespace cordon
