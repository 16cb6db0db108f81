#include "gate/process/exchange.h"

#include <gtest/gtest.h>

namespace cordon::gate {
namespace {

constexpr std::string_view kSecret = "sk-the-secret-itself";

// A rule with a secret, and one exchange by it.
class GateExchange : public testing::Test {
 protected:
  GateExchange() {
    Rule rule;
    rule.id = "api";
    rule.host = "api.example.com";
    rule.allow = {{"*", "/v1/**"}};
    rule.websocket = true;
    rule.secret = "key";
    rule.request_bytes = 8;
    rule.response_bytes = 64;
    rule_ = compile(rule).value();
    Secret secret;
    secret.name = "key";
    secret.host = rule.host;
    secret.value = kSecret;
    store_ = SecretStore({secret});
  }

  Exchange read(const std::string& line, const std::string& fields = {}) {
    auto made = Exchange::read(line + "\r\nHost: api.example.com\r\n" + fields + "\r\n", rule_,
                               ClientMode::Tls, store_);
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  // Everything that `text` leads to, behind what was left of the text before.
  std::optional<Failure> answer(Exchange& exchange, std::string_view text, ByteQueue& to) {
    from_.append(text);
    while (!from_.empty() && !exchange.is_response_whole() && !exchange.is_websocket()) {
      auto fed = exchange.feed_response(from_, to);
      if (!fed) return fed.error();
      if (!*fed) break;
    }
    return std::nullopt;
  }

  CompiledRule rule_;
  SecretStore store_{{}};
  ByteQueue from_;
};

TEST_F(GateExchange, SendsTheSecretAndNothingThatTheClientPutThere) {
  Exchange exchange = read("GET /v1/models HTTP/1.1", "Authorization: Bearer mine\r\n");
  const std::string head = exchange.begin().value();
  EXPECT_NE(head.find("authorization: Bearer " + std::string(kSecret) + "\r\n"), std::string::npos);
  EXPECT_EQ(head.find("mine"), std::string::npos);
  EXPECT_TRUE(exchange.is_request_whole());
}

TEST_F(GateExchange, RefusesWhatItsRuleDoesNotAllowAndSaysWhetherTheConnectionStays) {
  const auto refused = Exchange::read("GET /other HTTP/1.1\r\nHost: api.example.com\r\n\r\n", rule_,
                                      ClientMode::Tls, store_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().refusal.status, 403U);
  EXPECT_EQ(refused.error().afterwards, Afterwards::Stays);
  const auto garbled = Exchange::read("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", rule_,
                                      ClientMode::Tls, store_);
  ASSERT_FALSE(garbled);
  EXPECT_EQ(garbled.error().afterwards, Afterwards::Closes);
}

TEST_F(GateExchange, PassesABodyAndEndsOneThatIsTooLong) {
  for (const auto& [body, passes] : {std::pair{"4\r\nbody\r\n0\r\n\r\n", true},
                                     std::pair{"9\r\nmore body\r\n0\r\n\r\n", false}}) {
    Exchange exchange = read("POST /v1/files HTTP/1.1", "Transfer-Encoding: chunked\r\n");
    ASSERT_TRUE(exchange.begin());
    ByteQueue from;
    ByteQueue to;
    from.append(body);
    std::optional<Failure> failure;
    while (!exchange.is_request_whole() && !failure) {
      auto fed = exchange.feed_request(from, to);
      if (!fed) failure = fed.error();
    }
    EXPECT_EQ(!failure, passes);
    if (passes) {
      EXPECT_EQ(to.view(), body);
    }
    if (failure) {
      EXPECT_EQ(failure->status, 413U);
    }
  }
}

TEST_F(GateExchange, MasksTheSecretInAnAnswerThatIsCutAnywhere) {
  const std::string whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t cut = 1; cut < kSecret.size(); ++cut) {
    from_.release();
    Exchange exchange = read("GET /v1/models HTTP/1.1");
    ASSERT_TRUE(exchange.begin());
    const auto chunk = [](std::string_view text) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      return std::string{kDigits[text.size() / 16], kDigits[text.size() % 16]} + "\r\n" +
             std::string(text) + "\r\n";
    };
    ByteQueue to;
    ASSERT_FALSE(answer(exchange, whole + chunk(kSecret.substr(0, cut)), to));
    ASSERT_FALSE(answer(exchange, chunk(kSecret.substr(cut)) + "0\r\n\r\n", to));
    EXPECT_TRUE(exchange.is_response_whole());
    EXPECT_EQ(exchange.status(), 200U);
    EXPECT_EQ(to.view().find(kSecret.substr(0, 8)), std::string_view::npos) << to.view();
    EXPECT_NE(to.view().find("****"), std::string_view::npos) << to.view();
  }
}

TEST_F(GateExchange, TellsAnAnswerThatCannotBePassed) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n",
                           "HTTP/1.1 101 Switching\r\n\r\n", "nothing of HTTP\r\n\r\n"}) {
    from_.release();
    Exchange exchange = read("GET /v1/models HTTP/1.1");
    ASSERT_TRUE(exchange.begin());
    ByteQueue to;
    const auto failure = answer(exchange, text, to);
    ASSERT_TRUE(failure) << text;
    EXPECT_EQ(failure->status, 502U);
    EXPECT_EQ(exchange.status(), 0U);
    EXPECT_TRUE(to.empty());
  }
}

TEST_F(GateExchange, BecomesAWebSocketOnlyWhereOneWasAskedFor) {
  Exchange exchange = read("GET /v1/live HTTP/1.1",
                           "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                           "Sec-WebSocket-Version: 13\r\n");
  ASSERT_TRUE(exchange.begin());
  ByteQueue to;
  ASSERT_FALSE(answer(exchange,
                      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                      "Upgrade: websocket\r\n\r\n",
                      to));
  EXPECT_TRUE(exchange.is_websocket());
  EXPECT_TRUE(exchange.closes());
  ByteQueue frames;
  EXPECT_TRUE(exchange.pass(std::string(40, 'x'), frames));
  EXPECT_FALSE(exchange.pass(std::string(40, 'x'), frames));
}

}  // namespace
}  // namespace cordon::gate
