#include "gate/process/request_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gate/process/secrets.h"

namespace cordon::gate {
namespace {

CompiledRule rule_with(const std::function<void(Rule&)>& change) {
  Rule rule;
  rule.id = "api";
  rule.host = "api.example.com";
  rule.allow = {{"*", "/**"}};
  change(rule);
  return compile(rule).value();
}

MessageReader request_with(const std::string& fields,
                           const std::string& line = "GET /v1/models?x=1 HTTP/1.1") {
  MessageReader reader(MessageReader::Of::Request);
  reader.put(line + "\r\nHost: api.example.com\r\n" + fields + "\r\n");
  return reader;
}

const std::vector<KnownPlaceholder> kPlaceholders = {{"key", "x-api-key", "cordon-placeholder-1"}};

unsigned status_of(const std::string& fields, const CompiledRule& rule = rule_with([](Rule&) {})) {
  Judged judged;
  const auto refusal = judge(request_with(fields), rule, ClientMode::Tls, kPlaceholders, judged);
  return refusal ? refusal->status : 200;
}

std::vector<std::string> passing(const std::string& fields,
                                 const std::function<void(Rule&)>& change) {
  Judged judged;
  EXPECT_FALSE(
      judge(request_with(fields), rule_with(change), ClientMode::Tls, kPlaceholders, judged));
  std::vector<std::string> names;
  for (const Field& field : judged.fields) names.push_back(field.name);
  return names;
}

TEST(GateRequest, IsSentOnAsItWasJudged) {
  Judged judged;
  ASSERT_FALSE(judge(request_with("Accept: */*\r\n", "GET /a/../v1/%6dodels?q=%0a HTTP/1.1"),
                     rule_with([](Rule&) {}), ClientMode::Tls, kPlaceholders, judged));
  EXPECT_EQ(judged.path, "/v1/models");
  EXPECT_EQ(judged.target, "/v1/models?q=%0a");
  EXPECT_TRUE(judged.keeps_alive);
}

TEST(GateRequest, WhatConcernsOneConnectionStaysThere) {
  const auto none = [](Rule&) {};
  EXPECT_EQ(
      passing(
          "Connection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nX-Kept: 1\r\n",
          none),
      std::vector<std::string>{"X-Kept"});
  EXPECT_EQ(
      passing("Upgrade: h2c\r\nConnection: Upgrade\r\nHTTP2-Settings: AA\r\nX-Kept: 1\r\n", none),
      std::vector<std::string>{"X-Kept"});
}

TEST(GateRequest, AStrippedHeaderGoesNoFurther) {
  EXPECT_EQ(passing("X-Trace: 1\r\nX-Kept: 1\r\n", [](Rule& rule) { rule.strip = {"x-trace"}; }),
            std::vector<std::string>{"X-Kept"});
}

TEST(GateRequest, NobodyElsesCredentialsGoBesideASecret) {
  const std::string sent =
      "Authorization: a\r\nCookie: b\r\nX-Api-Key: c\r\nAccept-Encoding: gzip\r\nX-Kept: 1\r\n";
  EXPECT_EQ(passing(sent, [](Rule& rule) { rule.secret = "key"; }),
            std::vector<std::string>{"X-Kept"});
  EXPECT_EQ(passing(sent, [](Rule&) {}).size(), 5U);
}

TEST(GateRequest, AHeaderIsTheSameInWhateverItsWordsAreJoinedBy) {
  const std::string sent = "X_Api_Key: a\r\nX.Auth-Token: b\r\nX_Trace: c\r\nX_Kept: 1\r\n";
  const auto with_secret = [](Rule& rule) {
    rule.secret = "key";
    rule.strip = {"x-trace"};
  };
  EXPECT_EQ(passing(sent, with_secret), std::vector<std::string>{"X_Kept"});
  EXPECT_EQ(passing(sent, [](Rule&) {}).size(), 4U);
  for (const char* field :
       {"X_HTTP_Method_Override: DELETE", "x-forwarded_host: other.example.com",
        "Forwarded: for=192.0.2.1;host=other.example.com", "X-Forwarded-Prefix: /admin",
        "Destination: /v2/b", "X-Amz-Copy-Source: bucket/key", "Content_Length: 4",
        "Transfer_Encoding: chunked", "Content_Type: text/plain"})
    EXPECT_EQ(status_of(std::string(field) + "\r\n"), 400U) << field;
  for (const char* field : {"Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1", "X_Kept: 1"})
    EXPECT_EQ(status_of(std::string(field) + "\r\n"), 200U) << field;
}

TEST(GateRequest, APlaceholderStandsInItsOwnHeaderAlone) {
  const auto own = rule_with([](Rule& rule) { rule.secret = "key"; });
  EXPECT_EQ(status_of("X-Api-Key: cordon-placeholder-1\r\n", own), 200U);
  EXPECT_EQ(status_of("Authorization: Bearer cordon-placeholder-1\r\n", own), 200U);
  EXPECT_EQ(status_of("X-Other: cordon-placeholder-1\r\n", own), 403U);
  EXPECT_EQ(status_of("X-Api-Key: cordon-placeholder-1\r\n"), 403U);
}

TEST(GateRequest, SaysEachThingOnce) {
  EXPECT_EQ(status_of("Content-Type: a\r\n"), 200U);
  EXPECT_EQ(status_of("Content-Type: a\r\nContent-Type: b\r\n"), 400U);
  EXPECT_EQ(status_of("Accept: a\r\nAccept: b\r\n"), 200U);
  EXPECT_EQ(status_of("Host: api.example.com\r\n"), 400U);
}

TEST(GateRequest, IsForTheHostOfItsRule) {
  const auto asked = [](const std::string& host, ClientMode mode) {
    MessageReader reader(MessageReader::Of::Request);
    reader.put("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    Judged judged;
    const auto refusal = judge(reader, rule_with([](Rule&) {}), mode, {}, judged);
    return refusal ? refusal->status : 200U;
  };
  for (const char* host : {"api.example.com", "API.Example.com", "api.example.com:443",
                           "api.example.com.", "api.example.com.:443"}) {
    EXPECT_EQ(asked(host, ClientMode::Tls), 200U) << host;
    EXPECT_EQ(asked(host, ClientMode::Plain), 200U) << host;
  }
  for (const char* host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080", "127.0.0.1"}) {
    EXPECT_EQ(asked(host, ClientMode::Tls), 421U) << host;
    EXPECT_EQ(asked(host, ClientMode::Plain), 200U) << host;
  }
  for (const char* host : {"other.example.com", "api.example.com..", "api.example.com.evil.example",
                           "127.0.0.1.evil.example", "10.0.0.1"}) {
    EXPECT_EQ(asked(host, ClientMode::Tls), 421U) << host;
    EXPECT_EQ(asked(host, ClientMode::Plain), 421U) << host;
  }
  EXPECT_EQ(asked("api.example.com:8443", ClientMode::Tls), 421U);
}

TEST(GateRequest, ARefusalSaysWhatWouldChangeIt) {
  const auto rule = rule_with([](Rule& r) { r.allow = {{"GET", "/v1/models"}}; });
  Judged judged;
  const auto refusal =
      judge(request_with("", "DELETE /v1/models/7 HTTP/1.1"), rule, ClientMode::Tls, {}, judged);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 403U);
  const std::string body = refusal_body(*refusal, rule.rule);
  EXPECT_NE(body.find("DELETE /v1/models/7 is outside what is granted"), std::string::npos) << body;
  EXPECT_NE(body.find("--http 'DELETE api.example.com/v1/models/7'"), std::string::npos) << body;
  // Nothing is advised that would be refused.
  for (const char* path : {"/v2/a%2Fb", "//v1/models", "/v1/models;a", "/v2/*"}) {
    const auto other = judge(request_with("", std::string("GET ") + path + " HTTP/1.1"), rule,
                             ClientMode::Tls, {}, judged);
    ASSERT_TRUE(other.has_value()) << path;
    EXPECT_EQ(other->advice.find("--http"), std::string::npos) << path;
  }
}

TEST(GateTrailers, SayNothingOfRoutingAndWhoAsks) {
  const std::vector<Field> passed = passing_trailers({{"X-Sum", "1"},
                                                      {"Host", "evil.example"},
                                                      {"Content-Length", "5"},
                                                      {"Authorization", "evil"},
                                                      {"X-Api-Key", "evil"},
                                                      {"X_Api.Key", "evil"},
                                                      {"X_Trace", "1"},
                                                      {"Forwarded", "host=evil.example"},
                                                      {"Destination", "/evil"},
                                                      {"X-Any", "cordon-placeholder-1"}},
                                                     {"x-trace"}, kPlaceholders);
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_EQ(passed[0].name, "X-Sum");
}

std::string masked_in_pieces(std::string_view text, std::size_t size) {
  EchoMask mask({"sk-live-0123456789"});
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += size) shown += mask.pass(text.substr(at, size));
  shown += mask.finish();
  return shown;
}

TEST(EchoMask, FindsASecretWhereverItIsCut) {
  const std::string text = "a sk-live-0123456789, sk-live-01 and sk-live-sk-live-0123456789";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const std::string shown = masked_in_pieces(text, size);
    EXPECT_EQ(shown.size(), text.size()) << size;
    EXPECT_EQ(shown.find("live-0123456789"), std::string::npos) << size;
    EXPECT_NE(shown.find(", sk-live-01 and sk-live-"), std::string::npos) << size;
  }
  EXPECT_EQ(masked_in_pieces(text, text.size()),
            "a ******************, sk-live-01 and sk-live-******************");
}

TEST(EchoMask, HoldsNothingBackThatIsNoSecret) {
  EchoMask mask({"sk-live-0123456789"});
  for (const char* word : {"data: one\n\n", "ends with s", "sk", "data: sk-\n\n"})
    EXPECT_EQ(mask.pass(word), word);
}

TEST(SecretStore, MakesTheHeaderOfEachKind) {
  SecretStore store({{"a", "h", SecretKind::Bearer, "authorization", "token", ""},
                     {"b", "h", SecretKind::Basic, "authorization", "user:password", ""},
                     {"c", "h", SecretKind::Header, "x-api-key", "", ""}});
  EXPECT_EQ(store.header_of("a")->value, "Bearer token");
  EXPECT_EQ(store.header_of("b")->value, "Basic dXNlcjpwYXNzd29yZA==");
  EXPECT_FALSE(store.header_of("c").has_value());
  EXPECT_TRUE(store.replace("c", "value"));
  EXPECT_EQ(store.header_of("c")->value, "value");
  EXPECT_FALSE(store.replace("c", "one\r\nX: two"));
  EXPECT_FALSE(store.replace("d", "value"));
  const auto spellings = store.spellings_of("b");
  EXPECT_EQ(std::ranges::count(spellings, "password"), 1);
  EXPECT_EQ(std::ranges::count(spellings, "dXNlcjpwYXNzd29yZA=="), 1);
}

}  // namespace
}  // namespace cordon::gate
