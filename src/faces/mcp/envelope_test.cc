#include "faces/mcp/envelope.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

TEST(Envelope, TellsRequestsNotificationsAndResponsesApart) {
  const Envelope request = decode_envelope(R"({"jsonrpc":"2.0","id":"a","method":"m"})");
  ASSERT_TRUE(std::holds_alternative<RpcRequest>(request));
  EXPECT_EQ(std::get<RpcRequest>(request).id, Id("a"));
  EXPECT_NE(std::get<RpcRequest>(request).params.map(), nullptr);
  const Envelope note = decode_envelope(R"({"jsonrpc":"2.0","method":"m","params":[1]})");
  ASSERT_TRUE(std::holds_alternative<Notification>(note));
  EXPECT_NE(std::get<Notification>(note).params.map(), nullptr);
  const Envelope good = decode_envelope(R"({"jsonrpc":"2.0","id":1,"result":{}})");
  ASSERT_TRUE(std::holds_alternative<Response>(good));
  EXPECT_TRUE(std::get<Response>(good).result.has_value());
  const Envelope bad = decode_envelope(R"({"jsonrpc":"2.0","id":1,"error":{}})");
  ASSERT_TRUE(std::holds_alternative<Response>(bad));
  EXPECT_FALSE(std::get<Response>(bad).result.has_value());
}

TEST(Envelope, RefusesWithTheIdWhereItIsOne) {
  const Envelope with = decode_envelope(R"({"id":7,"method":"m"})");
  ASSERT_TRUE(std::holds_alternative<Refused>(with));
  EXPECT_EQ(std::get<Refused>(with).id, std::optional<Id>(Id(std::int64_t{7})));
  for (const char* text :
       {R"({"jsonrpc":"2.0","id":null,"method":"m"})", R"({"jsonrpc":"2.0","id":1.0,"method":"m"})",
        "[]", "nonsense", R"({"jsonrpc":"2.0","id":1,"id":1,"method":"m"})"}) {
    const Envelope without = decode_envelope(text);
    ASSERT_TRUE(std::holds_alternative<Refused>(without)) << text;
    EXPECT_FALSE(std::get<Refused>(without).id.has_value()) << text;
  }
}

TEST(Envelope, ErrorsWithoutAnIdHaveNoIdMember) {
  EXPECT_EQ(encode_error(std::nullopt, {code::kParse, "p", std::nullopt}),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"p"}})");
  EXPECT_EQ(encode_result(Id("x\n"), Node(NodeMap{})),
            R"({"jsonrpc":"2.0","id":"x\n","result":{}})");
}

TEST(Envelope, WhatIsWrittenIsOneLine) {
  Node params{NodeMap{}};
  params.set("text", std::string("a\nb\r\xff\0c", 7));
  const std::string line = encode_notification("n", params);
  EXPECT_EQ(line.find_first_of(std::string_view("\n\r\0", 3)), std::string::npos);
  EXPECT_TRUE(std::holds_alternative<Notification>(decode_envelope(line)));
}

}  // namespace
}  // namespace cordon::mcp
