#include "compat/safeclaw/safeclaw_policy.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

Result<SafeClawPolicy> decoded(const std::string& text) {
  const auto document = read_json(text, "p.json");
  if (!document) return fail(document.error());
  return decode_safeclaw(*document, "p.json");
}

std::string with_rules(const std::string& allow, const std::string& deny = "") {
  return R"({"filesystem":{"allow":[)" + allow + R"(],"deny":[)" + deny +
         R"(]},"syscalls":{"allow":["execve"],"defaultDeny":true}})";
}

std::string repeated(const std::string& entry, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + entry;
  return text;
}

std::string with_calls(const std::string& calls) {
  return R"({"filesystem":{},"syscalls":{"allow":[)" + calls + "]}}";
}

const std::string kRule = R"({"path":"/a","access":"read"})";

TEST(SafeClawPolicy, BoundsAreExact) {
  const std::string long_path(4095, 'a');
  const auto path = [](const std::string& text) {
    return with_rules(R"({"path":")" + text + R"(","access":"read"})");
  };
  EXPECT_TRUE(decoded(with_rules(repeated(kRule, 64))));
  EXPECT_FALSE(decoded(with_rules(repeated(kRule, 65))));
  EXPECT_TRUE(decoded(with_rules("", repeated(kRule, 16))));
  EXPECT_FALSE(decoded(with_rules("", repeated(kRule, 17))));
  EXPECT_TRUE(decoded(with_calls(repeated("\"read\"", 256))));
  EXPECT_FALSE(decoded(with_calls(repeated("\"read\"", 257))));
  EXPECT_TRUE(decoded(with_calls("\"" + std::string(31, 'a') + "\"")));
  EXPECT_FALSE(decoded(with_calls("\"" + std::string(32, 'a') + "\"")));
  EXPECT_TRUE(decoded(path("/" + std::string(4094, 'a'))));
  EXPECT_FALSE(decoded(path("/" + long_path)));
}

TEST(SafeClawPolicy, RefusesWithAPlaceAndAReason) {
  struct Case {
    std::string text;
    const char* reason;
  };
  const Case cases[] = {
      {"", "malformed JSON"},
      {"[]", "must be a table"},
      {with_rules(kRule) + "x", "malformed JSON"},
      {with_rules(kRule) + with_rules(kRule), "malformed JSON"},
      {R"({"filesystem":{}})", "missing key \"syscalls\""},
      {R"({"syscalls":{}})", "missing key \"filesystem\""},
      {R"({"filesystem":{},"filesystem":{},"syscalls":{}})", "duplicate key"},
      {R"({"filesystem":{},"syscalls":{"defaultDeny":false}})", "can only be true"},
      {R"({"filesystem":{},"syscalls":{"defaultDeny":1}})", "true or false"},
      {R"({"filesystem":{},"syscalls":{},"extra":1})", "unknown key \"extra\""},
      {R"({"filesystem":{"extra":1},"syscalls":{}})", "unknown key \"extra\""},
      {R"({"filesystem":null,"syscalls":{}})", "must be a table"},
      {with_rules(R"({"path":"/a","access":"admin"})"), "is not a value"},
      {with_rules(R"({"path":"/a","access":"read","mode":1})"), "unknown key \"mode\""},
      {with_rules(R"({"path":"/a"})"), "needs \"path\" and \"access\""},
      {with_rules(R"({"path":"a","access":"read"})"), "is not absolute"},
      {with_rules(R"({"path":"","access":"read"})"), "is not absolute"},
      {with_rules(R"({"path":"/a\q","access":"read"})"), "malformed JSON"},
      {with_rules(R"({"path":"/a\u0000b","access":"read"})"), "NUL byte"},
      {with_rules(R"({"path":"/a\ud800","access":"read"})"), "malformed JSON"},
      {with_calls(R"("Read")"), "no system call"},
      {with_calls(R"("")"), "no system call"},
      {with_calls("1"), "strings only"},
      {R"({"filesystem":{},"syscalls":{},"network":"all"})", "is not a value"},
      {R"({"filesystem":{},"syscalls":{},"network":1})", "must be a table"},
      {R"({"filesystem":{},"syscalls":{},"namespaces":{"pid":1}})", "true or false"},
      {R"({"filesystem":{},"syscalls":{},"timeoutMs":-1})", "whole number"},
  };
  for (const Case& one : cases) {
    const auto policy = decoded(one.text);
    ASSERT_FALSE(policy) << one.text;
    EXPECT_NE(policy.error().what.find(one.reason), std::string::npos)
        << one.text << ": " << policy.error().what;
    EXPECT_TRUE(policy.error().place) << one.text;
  }
}

TEST(SafeClawPolicy, ReadsWhatItWrites) {
  SafeClawPolicy policy;
  for (const SafeClawAccess access :
       {SafeClawAccess::Read, SafeClawAccess::Execute, SafeClawAccess::Write,
        SafeClawAccess::ReadWrite, SafeClawAccess::ReadWriteExecute}) {
    policy.allow.push_back({"/" + std::string(name_of(access)), access});
  }
  policy.deny = {{"/secret \"x\"", SafeClawAccess::Read}};
  policy.syscalls = {"read", "execve"};
  policy.shared_namespaces = {"net"};
  policy.timeout_ms = 5;
  policy.network.reach = SafeClawNetwork::Reach::Domains;
  policy.network.allowed = {{"a.example"}};
  const auto again = decoded(write_json(encode_safeclaw(policy), JsonStyle::Pretty));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->allow, policy.allow);
  EXPECT_EQ(again->deny, policy.deny);
  EXPECT_EQ(again->syscalls, policy.syscalls);
  EXPECT_EQ(again->shared_namespaces, policy.shared_namespaces);
  EXPECT_EQ(again->timeout_ms, policy.timeout_ms);
  EXPECT_EQ(again->network.reach, policy.network.reach);
  ASSERT_EQ(again->network.allowed.size(), 1U);
  EXPECT_EQ(again->network.allowed[0].text, "a.example");
}

TEST(SafeClawPolicy, SaysNothingOfTheNetworkUnlessTheDocumentDoes) {
  EXPECT_EQ(decoded(with_rules(""))->network.reach, SafeClawNetwork::Reach::Unsaid);
  EXPECT_EQ(decoded(R"({"filesystem":{},"syscalls":{},"network":"none"})")->network.reach,
            SafeClawNetwork::Reach::None);
  EXPECT_EQ(decoded(R"({"filesystem":{},"syscalls":{},"network":{}})")->network.reach,
            SafeClawNetwork::Reach::Domains);
}

}  // namespace
}  // namespace cordon
