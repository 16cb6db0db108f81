#include "gate/protocol.h"

#include <gtest/gtest.h>

namespace cordon::gate {
namespace {

Configuration two_rules() {
  Configuration configuration;
  Rule api;
  api.id = "api";
  api.host = "api.example.com";
  api.allow = {{"GET", "/v1/models"}, {"POST", "/v1/**"}};
  api.deny = {{"*", "/v1/admin/**"}};
  api.strip = {"x-trace"};
  api.request_bytes = 1024;
  api.per_minute = 60;
  api.websocket = true;
  api.secret = "key";
  Rule packages;
  packages.id = "packages";
  packages.host = "packages.example.com";
  packages.port = 8443;
  configuration.rules = {api, packages};
  configuration.secrets = {{"key", "api.example.com", SecretKind::Header, "x-api-key",
                            "s3cret \"value\"", "cordon-placeholder-1"}};
  configuration.authority = true;
  configuration.bounds.client_seconds = 5;
  configuration.bounds.traffic = 1 << 20;
  return configuration;
}

template <typename Change>
bool is_taken(Change change) {
  Configuration configuration = two_rules();
  change(configuration);
  return decode_configuration(encode(configuration)).has_value();
}

TEST(GateProtocol, AConfigurationComesBackAsItWas) {
  const auto read = decode_configuration(encode(two_rules()));
  ASSERT_TRUE(read.has_value()) << read.error().what;
  EXPECT_EQ(*read, two_rules());
  Configuration unbounded = two_rules();
  unbounded.bounds.traffic.reset();
  EXPECT_EQ(decode_configuration(encode(unbounded)).value(), unbounded);
}

TEST(GateProtocol, AConfigurationIsComplete) {
  EXPECT_TRUE(is_taken([](Configuration&) {}));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[1].id = "api"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].host = "10.0.0.1"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].host = "::1"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].host = "API.example.com"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].port = 0; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].allow[0].method = "get"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].allow[0].path = "/a/../b"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].strip = {"X-Trace\r\n"}; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[0].secret = "other"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.rules[1].secret = "key"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.secrets.push_back(c.secrets[0]); }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.secrets[0].value = "one\r\nx-two: 2"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.secrets[0].placeholder = "short"; }));
  EXPECT_FALSE(is_taken([](Configuration& c) { c.bounds.connections = 0; }));
}

TEST(GateProtocol, AFaultyConfigurationIsNotQuoted) {
  Configuration configuration = two_rules();
  configuration.secrets[0].value = "very-secret\n";
  const auto read = decode_configuration(encode(configuration));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(message(read.error()).find("very-secret"), std::string::npos);
  const std::string cut = encode(two_rules()).substr(0, 600);
  EXPECT_EQ(message(decode_configuration(cut).error()).find("s3cret"), std::string::npos);
}

TEST(GateProtocol, MessagesComeBackAsTheyWere) {
  const std::vector<ToGate> to_gate = {Configure{},
                                       Connection{1, "api", ClientMode::Tls},
                                       Connection{2, "api", ClientMode::Plain},
                                       Dialled{1, std::nullopt},
                                       Dialled{1, "no such host"},
                                       Go{7},
                                       Stop{8, "the run's budget is used up"},
                                       NewSecret{"key", "new"}};
  const std::vector<std::size_t> descriptors = {2, 1, 1, 1, 0, 0, 0, 0};
  for (std::size_t i = 0; i < to_gate.size(); ++i) {
    const auto read = decode_to_gate(encode(to_gate[i]));
    ASSERT_TRUE(read.has_value()) << encode(to_gate[i]);
    EXPECT_EQ(*read, to_gate[i]);
    EXPECT_EQ(descriptors_of(*read), descriptors[i]);
    EXPECT_FALSE(decode_from_gate(encode(to_gate[i])).has_value());
  }
  const std::vector<FromGate> from_gate = {
      Ready{std::nullopt},
      Ready{"-----BEGIN"},
      Failed{"why"},
      Dial{3},
      Request{4, 3, "api", "GET", "/v1/models", "key", std::nullopt},
      Request{5, 3, "api", "", "", std::nullopt, "no"},
      Done{4, 200, 100, 2000, 5, std::nullopt},
      Done{5, 0, 1, 0, 5, "the client went away"}};
  for (const FromGate& sent : from_gate) {
    const auto read = decode_from_gate(encode(sent));
    ASSERT_TRUE(read.has_value()) << encode(sent);
    EXPECT_EQ(*read, sent);
  }
}

TEST(GateProtocol, WhatIsNotExactlyAMessageIsRefused) {
  for (const char* text :
       {"", "{}", "[]", R"({"go":{}})", R"({"go":{"id":-1}})", R"({"go":{"id":"1"}})",
        R"({"go":{"id":1,"more":1}})", R"({"go":{"id":1},"stop":{"id":1,"reason":""}})",
        R"({"connection":{"id":1,"rule":"a","mode":"both"}})",
        R"({"secret":{"name":"a","value":"b\r\nc: d"}})", R"({"unknown":{}})"}) {
    EXPECT_FALSE(decode_to_gate(text).has_value()) << text;
  }
  EXPECT_TRUE(decode_to_gate(R"({"go":{"id":1}})").has_value());
}

}  // namespace
}  // namespace cordon::gate
