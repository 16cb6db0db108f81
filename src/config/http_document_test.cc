#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/policy_document.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

Result<Policy> policy_with(const std::string& tables) {
  const auto document = read_document("version = 1\n" + tables, "p.toml");
  if (!document) return fail(document.error());
  return decode_policy(*document, "p.toml", "/srv", {});
}

constexpr const char* kEveryHttpKey = R"(
[net]
allow = ["www.example.com:443"]

[[http]]
host = "API.example.com"
allow = ["GET /v1/models", "POST /v1/messages"]
deny = ["* /v1/admin/**"]
strip = ["X-Trace"]
request_bytes = "1M"
response_bytes = "10M"
per_minute = 60
websocket = true
secret = "example-key"
base = "EXAMPLE_URL"

[[http]]
host = "git.example.com:8443"
allow = ["GET /me/tool.git/info/refs"]

[[secret]]
name = "example-key"
host = "api.example.com"
header = "X-Api-Key"
from = "file:~/.config/example.json#/keys/0"
variable = "EXAMPLE_KEY"
requests = 40

[[secret]]
name = "git"
host = "git.example.com:8443"
basic = "me"
from = "command:pass show git"

[[secret]]
name = "token"
host = "git.example.com:8443"
bearer = true
from = "env:EXAMPLE_TOKEN"
)";

TEST(HttpDocument, EveryKeyIsRead) {
  const auto policy = policy_with(kEveryHttpKey);
  ASSERT_TRUE(policy.has_value()) << message(policy.error());
  EXPECT_EQ(policy->net.mode, NetMode::Allow);
  ASSERT_EQ(policy->net.http.size(), 2U);
  const HttpRule& rule = policy->net.http.front();
  EXPECT_EQ(to_string(rule.host), "api.example.com:443");
  EXPECT_EQ(to_string(rule.allow.at(1)), "POST /v1/messages");
  EXPECT_EQ(to_string(rule.deny.at(0)), "* /v1/admin/**");
  EXPECT_THAT(rule.strip, testing::ElementsAre("x-trace"));
  EXPECT_EQ(rule.request_bytes, 1U << 20U);
  EXPECT_EQ(rule.response_bytes, 10U << 20U);
  EXPECT_EQ(rule.per_minute, 60U);
  EXPECT_TRUE(rule.websocket);
  EXPECT_EQ(rule.secret, "example-key");
  EXPECT_EQ(rule.base, "EXAMPLE_URL");
  ASSERT_EQ(policy->secrets.size(), 3U);
  EXPECT_EQ(policy->secrets[0].header, "x-api-key");
  EXPECT_EQ(policy->secrets[0].variable, "EXAMPLE_KEY");
  EXPECT_EQ(policy->secrets[0].requests, 40U);
  EXPECT_EQ(policy->secrets[1].requests, std::nullopt);
  EXPECT_EQ(policy->secrets[1].kind, SecretRule::Kind::Basic);
  EXPECT_EQ(policy->secrets[1].user, "me");
  EXPECT_EQ(policy->secrets[2].variable, "EXAMPLE_TOKEN");  // programs look there inside as well
}

TEST(HttpDocument, IsWrittenAsItIsRead) {
  const auto policy = policy_with(kEveryHttpKey);
  ASSERT_TRUE(policy.has_value());
  const std::string text = policy->toml();
  const auto document = read_document(text, "p.toml");
  ASSERT_TRUE(document.has_value()) << text;
  const auto again = decode_policy(*document, "p.toml", "/srv", {});
  ASSERT_TRUE(again.has_value()) << message(again.error()) << "\n" << text;
  EXPECT_EQ(*again, *policy) << text;
}

TEST(HttpDocument, RulesSetTheModeAsAListOfHostsDoes) {
  const auto policy = policy_with("extends = \"workspace\"\n[[http]]\nhost = \"x.org\"\n");
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->net.mode, NetMode::Allow);
  EXPECT_TRUE(policy->net.http.front().allow.empty());
}

struct Fault {
  const char* tables;
  const char* what;
};

TEST(HttpDocument, FaultsAreNamed) {
  const Fault faults[] = {
      {"[[http]]\nallow = [\"GET /\"]\n", "missing key \"host\""},
      {"[[http]]\nhost = \"*.x.org\"\n", "no name of one host"},
      {"[[http]]\nhost = \"10.0.0.1\"\n", "no name of one host"},
      {"[[http]]\nhost = \"x.org\"\nallow = [\"get /\"]\n", "method"},
      {"[[http]]\nhost = \"x.org\"\nstrip = [\"Host\"]\n", "frames a request"},
      {"[[http]]\nhost = \"x.org\"\nbase = \"LD_PRELOAD\"\n", "no variable"},
      {"[[http]]\nhost = \"x.org\"\nalow = []\n", "unknown key \"alow\""},
      {"[[http]]\nhost = \"x.org\"\n[[http]]\nhost = \"X.org:443\"\n", "a second [[http]]"},
      {"[http]\nhost = \"x.org\"\n", "list of tables"},
      {"[net]\nmode = \"open\"\n[[http]]\nhost = \"x.org\"\n", "contradicts [[http]]"},
      {"[net]\nmode = \"none\"\n[[http]]\nhost = \"x.org\"\n", "contradicts [[http]]"},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nfrom = \"env:A\"\n", "one way to be added"},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nbearer = true\nbasic = \"u\"\nfrom = "
       "\"env:A\"\n",
       "one way to be added"},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nbearer = true\nfrom = \"env:A\"\nrequests = "
       "0\n",
       "more than zero"},
      {"[[secret]]\nname = \"a b\"\nhost = \"x.org\"\nbearer = true\nfrom = \"env:A\"\n",
       "not a name of a secret"},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nbearer = true\n", "missing key \"from\""},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nbearer = true\nfrom = \"file:x\"\n",
       "no absolute path"},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nbearer = true\nfrom = \"file:/x#y\"\n",
       "no JSON pointer"},
      {"[[secret]]\nname = \"a\"\nhost = \"x.org\"\nbearer = true\nfrom = \"A\"\n",
       "does not say where"},
  };
  for (const Fault& fault : faults) {
    const auto policy = policy_with(fault.tables);
    ASSERT_FALSE(policy.has_value()) << fault.tables;
    EXPECT_THAT(message(policy.error()), testing::HasSubstr(fault.what));
    EXPECT_TRUE(policy.error().place.has_value()) << fault.tables;
  }
}

}  // namespace
}  // namespace cordon
