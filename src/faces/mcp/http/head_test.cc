#include "faces/mcp/http/head.h"

#include <gtest/gtest.h>

#include "faces/mcp/http/listener.h"

namespace cordon::mcp {
namespace {

const HttpRules kRules{std::uint16_t{8080}, "0123456789abcdef0123456789abcdef"};

HttpHead good() {
  HttpHead head;
  head.method = "POST";
  head.path = "/mcp";
  add_header(head, "Host", "127.0.0.1:8080");
  add_header(head, "AUTHORIZATION", " Bearer " + kRules.token + "\t");
  add_header(head, "content-type", "application/json");
  add_header(head, "Accept", "application/json, text/event-stream");
  return head;
}

unsigned status(const HttpHead& head, const HttpRules& rules = kRules) {
  const auto refusal = check_head(head, rules);
  return refusal ? refusal->status : 200;
}

TEST(HttpHead, AGoodOneIsTaken) { EXPECT_EQ(status(good()), 200U); }

TEST(HttpHead, EveryPartOfItIsNeeded) {
  const auto without = [](std::optional<std::string> HttpHead::*field) {
    HttpHead head = good();
    (head.*field).reset();
    return status(head);
  };
  EXPECT_EQ(without(&HttpHead::host), 403U);
  EXPECT_EQ(without(&HttpHead::authorization), 401U);
  EXPECT_EQ(without(&HttpHead::content_type), 415U);
  EXPECT_EQ(without(&HttpHead::accept), 406U);
}

TEST(HttpHead, AUnixSocketHasNoHostAndNoOrigin) {
  const HttpRules rules{std::nullopt, kRules.token};
  HttpHead head = good();
  head.host = "whatever";
  EXPECT_EQ(status(head, rules), 200U);
  head.origin = "http://localhost:8080";
  EXPECT_EQ(status(head, rules), 403U);
}

TEST(HttpHead, TheEraIsReadFromHeaderAndBody) {
  const Envelope plain = decode_envelope(R"({"jsonrpc":"2.0","id":1,"method":"m"})");
  const Envelope named = decode_envelope(
      R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":
          {"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  HttpHead head;
  EXPECT_EQ(wire_of(head, plain), Wire::Legacy);
  EXPECT_EQ(wire_of(head, named), Wire::Modern);
  head.protocol_version = "2025-06-18";
  EXPECT_EQ(wire_of(head, plain), Wire::Legacy);
  EXPECT_EQ(wire_of(head, named), Wire::Modern);
  head.protocol_version = "2026-07-28";
  EXPECT_EQ(wire_of(head, plain), Wire::Modern);
  head.protocol_version = "v999";
  EXPECT_EQ(wire_of(head, plain), Wire::Modern);
}

TEST(HttpAddress, IsLoopbackOrAPathAndNothingElse) {
  using Kind = HttpAddress::Kind;
  EXPECT_EQ(*parse_http_address("127.0.0.1:80"), (HttpAddress{Kind::Loopback4, 80, ""}));
  EXPECT_EQ(*parse_http_address("localhost:0"), (HttpAddress{Kind::Loopback4, 0, ""}));
  EXPECT_EQ(*parse_http_address("[::1]:65535"), (HttpAddress{Kind::Loopback6, 65535, ""}));
  EXPECT_EQ(*parse_http_address("/a//b/./c"), (HttpAddress{Kind::Unix, 0, "/a/b/c"}));
  for (const char* text : {"", "0.0.0.0:80", "[::]:80", "::1:80", "127.0.0.1", "127.0.0.1:",
                           "127.0.0.1:65536", "127.0.0.1:-1", "127.1:80", "a/b", "/", "/a/../b"}) {
    EXPECT_FALSE(parse_http_address(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cordon::mcp
