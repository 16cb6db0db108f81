#include "policy/http_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/clamp_net.h"
#include "policy/environment.h"
#include "support/choices.h"
#include "support/property.h"

namespace cordon {
namespace {

RequestPattern pattern(std::string_view text) { return parse_request_pattern(text).value(); }

HostRule endpoint(std::string_view text) { return parse_http_host(text).value(); }

HttpRule http_rule(std::string_view host, std::initializer_list<const char*> allow,
                   std::initializer_list<const char*> deny = {}) {
  HttpRule rule;
  rule.host = endpoint(host);
  for (const char* text : allow) rule.allow.push_back(pattern(text));
  for (const char* text : deny) rule.deny.push_back(pattern(text));
  return rule;
}

NetRules reached_by(std::initializer_list<HttpRule> rules) {
  NetRules net;
  net.mode = NetMode::Allow;
  net.http = rules;
  return net;
}

bool sends(const NetRules& net, std::string_view method, std::string_view url) {
  return decide_request(net, parse_asked_request(method, url).value()).allowed;
}

TEST(HttpRules, AreNamedWhereTheirHostIsAskedForAtAnotherPort) {
  NetRules net = reached_by({http_rule("api.example.com", {"GET /v1/*"})});
  const Verdict refused = decide_connect(net, "api.example.com", 80, {});
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.rule, "[[http]] api.example.com:443");
  EXPECT_EQ(refused.change, "--allow api.example.com:80");
  net.allow.push_back(parse_host_rule("api.example.com:80").value());
  EXPECT_TRUE(decide_connect(net, "api.example.com", 80, {}).allowed);
}

TEST(RequestPattern, IsAMethodAndAPathOfSegments) {
  EXPECT_EQ(to_string(pattern("POST /v1/messages")), "POST /v1/messages");
  EXPECT_EQ(to_string(pattern("* /v1/**")), "* /v1/**");
  for (const char* text :
       {"/v1", "GET", "GET v1", "get /v1", "GET /a?b", "GET /a*", "GET /**/a", "GET /a//b",
        "GET /a%2Fb", "GET /a;b", "GET /../a", "CONNECT /", "GET  /a", "GET /a b"}) {
    EXPECT_FALSE(parse_request_pattern(text).has_value()) << text;
  }
}

TEST(RequestPattern, HostsAreNamesWithOnePort) {
  EXPECT_EQ(to_string(endpoint("API.example.com")), "api.example.com:443");
  EXPECT_EQ(to_string(endpoint("api.example.com:8443")), "api.example.com:8443");
  for (const char* text : {"*.example.com", "10.0.0.1", "[fd00::1]", "localhost", "a.localhost",
                           "api.example.com:1-2", "api.example.com/x", ""}) {
    EXPECT_FALSE(parse_http_host(text).has_value()) << text;
  }
}

const std::vector<std::string>& some_patterns() {
  static const std::vector<std::string> texts{"GET /",      "GET /a",    "* /a",    "POST /a/*",
                                              "GET /*/b",   "* /a/**",   "GET /**", "* /**",
                                              "GET /a/b/c", "* /*/*/**", "GET /a/", "POST /a/b"};
  return texts;
}

const std::vector<std::string>& some_paths() {
  static const std::vector<std::string> paths{"/",      "/a",     "/b",       "/a/",     "/a/b",
                                              "/b/b",   "/a/b/c", "/a/b/c/d", "/a%2Fb",  "/a//b",
                                              "/a;x/b", "/a/..",  "/%61/b",   "/a/./b/c"};
  return paths;
}

bool matched(const RequestPattern& wanted, std::string_view method, std::string_view path) {
  NetRules net;
  net.mode = NetMode::Allow;
  HttpRule rule;
  rule.host = endpoint("x.org");
  rule.allow = {wanted};
  net.http = {rule};
  AskedRequest asked{std::string(method), rule.host, read_request_path(path).value()};
  return decide_request(net, asked).allowed;
}

// What the gate matches by decides: the intersection matches what both match, and nothing else.
TEST(RequestPattern, IntersectionIsWhatBothMatch) {
  std::size_t both = 0;
  for (const std::string& left : some_patterns()) {
    for (const std::string& right : some_patterns()) {
      const auto met = intersect(pattern(left), pattern(right));
      for (const char* method : {"GET", "POST", "PUT"}) {
        for (const std::string& path : some_paths()) {
          const bool expected =
              matched(pattern(left), method, path) && matched(pattern(right), method, path);
          EXPECT_EQ(met && matched(*met, method, path), expected)
              << left << " and " << right << ": " << method << " " << path;
          both += expected ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(both, 100U);
}

TEST(RequestPattern, CoversOnlyWhatItMatches) {
  EXPECT_TRUE(covers(pattern("* /a/**"), pattern("GET /a")));
  EXPECT_TRUE(covers(pattern("* /a/**"), pattern("GET /a/*/c")));
  EXPECT_TRUE(covers(pattern("GET /*"), pattern("GET /a")));
  EXPECT_FALSE(covers(pattern("GET /*"), pattern("GET /a/b")));
  EXPECT_FALSE(covers(pattern("GET /**"), pattern("* /a")));
  EXPECT_FALSE(covers(pattern("GET /a/*"), pattern("GET /a/**")));
}

TEST(DecideRequest, NothingIsSentWithoutARuleAndADenyWins) {
  const NetRules net =
      reached_by({http_rule("api.example.com", {"GET /v1/**"}, {"GET /v1/admin/**"})});
  EXPECT_TRUE(sends(net, "GET", "https://api.example.com/v1/models?limit=1"));
  EXPECT_FALSE(sends(net, "POST", "https://api.example.com/v1/models"));
  EXPECT_FALSE(sends(net, "GET", "https://api.example.com/v2"));
  EXPECT_FALSE(sends(net, "GET", "https://api.example.com:8443/v1/models"));
  EXPECT_FALSE(sends(net, "GET", "https://api.example.com/v1/admin/users"));
  EXPECT_FALSE(sends(net, "GET", "https://api.example.com/v1/x/..%2Fadmin/users"));
  EXPECT_FALSE(sends(net, "GET", "https://other.example.com/v1/models"));
}

TEST(MeetHttp, ACeilingsRuleTakesTheConnectionAway) {
  NetRules asked;
  asked.mode = NetMode::Allow;
  asked.allow = {parse_host_rule("*.example.com").value()};
  Ceiling ceiling;
  ceiling.policy.net = reached_by({http_rule("api.example.com", {"GET /v1/**"})});
  ceiling.policy.net.allow = {parse_host_rule("*.example.com").value()};
  const NetRules got = narrow_net(asked, {&ceiling, 1});
  ASSERT_EQ(got.http.size(), 1U);
  EXPECT_TRUE(sends(got, "GET", "https://api.example.com/v1/models"));
  EXPECT_FALSE(sends(got, "POST", "https://api.example.com/v1/models"));
  // Control: another host of the same rule is connected to.
  EXPECT_TRUE(sends(got, "POST", "https://www.example.com/"));
}

TEST(MeetHttp, TakesTheStricterOfEverything) {
  HttpRule left = http_rule("x.org", {"* /a/**"}, {"GET /a/b"});
  left.request_bytes = 10;
  left.per_minute = 5;
  left.websocket = true;
  left.secret = "key";
  left.strip = {"b"};
  HttpRule right = http_rule("x.org", {"GET /**"});
  right.request_bytes = 20;
  right.response_bytes = 7;
  right.strip = {"a"};
  right.secret = "key";
  const auto met = meet_http(reached_by({left}), reached_by({right}));
  ASSERT_EQ(met.size(), 1U);
  HttpRule expected = http_rule("x.org", {"GET /a/**"}, {"GET /a/b"});
  expected.request_bytes = 10;
  expected.response_bytes = 7;
  expected.per_minute = 5;
  expected.strip = {"a", "b"};
  expected.secret = "key";
  EXPECT_EQ(met.front(), expected);
  right.secret = "other";
  EXPECT_EQ(meet_http(reached_by({left}), reached_by({right})).front().secret, "");
}

TEST(VariablesForRequests, TellTheAddressAndStandForTheSecret) {
  Effective effective;
  HttpRule own = http_rule("x.org", {"GET /"});
  own.base = "X_URL";
  effective.net = reached_by(
      {http_rule("api.openai.com", {"POST /v1/**"}), own, http_rule("y.org", {"GET /"})});
  SecretRule secret;
  secret.name = "key";
  secret.variable = "OPENAI_API_KEY";
  effective.secrets = {secret};
  const auto variables = variables_for_requests(effective);
  ASSERT_EQ(variables.size(), 3U);
  EXPECT_EQ(variables[0].name + "=" + variables[0].value,
            "OPENAI_BASE_URL=http://127.0.0.1:61100/v1");
  EXPECT_EQ(variables[1].name + "=" + variables[1].value, "X_URL=http://127.0.0.1:61101");
  EXPECT_EQ(variables[2].name + "=" + variables[2].value, "OPENAI_API_KEY=cordon-placeholder-key");
}

TEST(VariablesForRequests, NoCredentialOfTheAgentIsInsideBesideAPlaceholder) {
  Effective effective;
  effective.agent.name = "claude";
  effective.env.pass = {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "TERM"};
  Caller caller;
  caller.environment = {
      {"ANTHROPIC_API_KEY", "real"}, {"CLAUDE_CODE_OAUTH_TOKEN", "real"}, {"TERM", "xterm"}};
  const auto holds = [&](const std::string& variable) {
    const auto all = build_environment(effective, caller, "/");
    return std::ranges::find(all, variable) != all.end();
  };
  EXPECT_TRUE(holds("ANTHROPIC_API_KEY=real"));  // control: as it is without a secret
  SecretRule secret;
  secret.name = "model";
  secret.variable = "ANTHROPIC_API_KEY";
  effective.secrets = {secret};
  EXPECT_TRUE(holds("ANTHROPIC_API_KEY=cordon-placeholder-model"));
  EXPECT_FALSE(holds("ANTHROPIC_API_KEY=real"));
  EXPECT_FALSE(holds("CLAUDE_CODE_OAUTH_TOKEN=real"));
  EXPECT_TRUE(holds("TERM=xterm"));
}

TEST(ParseAllowedRequest, TakesMethodHostAndPath) {
  const auto request = parse_allowed_request("POST api.example.com:8443/v1/*");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(to_string(request->endpoint), "api.example.com:8443");
  EXPECT_EQ(option_for_request(request->endpoint, request->pattern),
            "--http 'POST api.example.com:8443/v1/*'");
  for (const char* text : {"api.example.com/v1", "POST api.example.com", "POST /v1",
                           "POST https://api.example.com/v1", "POST *.example.com/v1"}) {
    EXPECT_FALSE(parse_allowed_request(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cordon
