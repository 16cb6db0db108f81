#include "run/governance.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "audit/signing.h"
#include "base/base64.h"
#include "base/sha256.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestTree;

constexpr std::string_view kDocument =
    "version = 1\n[governance]\nagent = \"claude\"\n[fs]\nread = [\"/usr\"]\n[limits]\npids = 7\n";

std::string bytes_of(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

class Governance : public ::testing::Test {
 protected:
  Governance() : caller_(tree_.caller()) {
    key_.fill(7);
    put("governance.pub", pem(audit::public_key_of(key_)));
    put("governance/claude.toml", kDocument);
    sign("claude", kDocument);
  }

  static std::string pem(std::string_view key) {
    return "-----BEGIN PUBLIC KEY-----\n" +
           base64(bytes_of("302a300506032b6570032100") + bytes_of(key)) +
           "\n-----END PUBLIC KEY-----\n";
  }
  void put(const std::string& name, std::string_view text) const {
    const std::string path = tree_.file("etc/" + name, text);
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  }
  void remove(const std::string& name) const {
    std::filesystem::remove_all(tree_.at("etc/" + name));
  }
  void sign(const std::string& id, std::string_view text) const {
    put("governance/" + id + ".toml.sig", bytes_of(audit::sign(key_, text)));
  }
  Result<std::optional<Ceiling>> of(const std::string& id) const {
    return governance_of(id, caller_, tree_.at("etc"));
  }
  void expect_refused(const std::string& id, const char* why) const {
    const auto result = of(id);
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(message(result.error()), HasSubstr(why));
    EXPECT_FALSE(result.error().hint.empty());
  }

  TestTree tree_;
  Caller caller_;
  audit::Key key_{};
};

TEST_F(Governance, IsACeilingOfItsAgent) {
  const auto result = of("claude");
  ASSERT_TRUE(result.has_value()) << message(result.error());
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->policy.limits.pids, 7U);
  EXPECT_THAT((*result)->policy.fs.read, ElementsAre(PathRule{"/usr", tree_.at("etc/governance")}));
  EXPECT_EQ((*result)->policy.file, tree_.at("etc/governance/claude.toml"));
}

TEST_F(Governance, NobodyIsGovernedWhereThereIsNone) {
  EXPECT_FALSE(of("")->has_value());
  remove("governance");
  remove("governance.pub");
  EXPECT_FALSE(of("claude")->has_value());
}

TEST_F(Governance, WhatIsMissingIsRefused) {
  expect_refused("gemini", "has no governance on this machine");
  remove("governance/claude.toml.sig");
  expect_refused("claude", "is not signed");
  sign("claude", kDocument);
  EXPECT_TRUE(of("claude").has_value());
  remove("governance.pub");
  expect_refused("claude", "does not exist");
  remove("governance");
  put("governance.pub", pem(audit::public_key_of(key_)));
  expect_refused("claude", "has no governance on this machine");
}

TEST_F(Governance, WhatTheKeyDidNotSignIsRefused) {
  std::string changed(kDocument);
  changed += "# more\n";
  put("governance/claude.toml", changed);
  expect_refused("claude", "signature of this governance does not hold");
  sign("claude", changed);
  EXPECT_TRUE(of("claude").has_value());
  put("governance/claude.toml.sig", bytes_of(audit::sign(key_, changed)) + "\n");
  expect_refused("claude", "signature of this governance does not hold");
  sign("claude", changed);
  audit::Key other{};
  other.fill(8);
  put("governance.pub", pem(audit::public_key_of(other)));
  expect_refused("claude", "signature of this governance does not hold");
  put("governance.pub", "no key\n");
  expect_refused("claude", "no public key of Ed25519");
}

TEST_F(Governance, ADocumentIsForTheAgentItNames) {
  put("governance/gemini.toml", kDocument);
  sign("gemini", kDocument);
  expect_refused("gemini", "does not say that it is for the agent gemini");
}

TEST_F(Governance, WhatIsRevokedIsRefused) {
  put("governance/revoked", "# left us\nother\n");
  EXPECT_TRUE(of("claude").has_value());
  put("governance/revoked", "# left us\n  claude\r\n");
  expect_refused("claude", "was revoked");
  put("governance/revoked", sha256_hex(kDocument) + "\n");
  expect_refused("claude", "was revoked");
  // Another version of it is not.
  std::string newer(kDocument);
  newer.append("files = 64\n");
  put("governance/claude.toml", newer);
  sign("claude", newer);
  EXPECT_TRUE(of("claude").has_value());
  ASSERT_EQ(::chmod(tree_.at("etc/governance/revoked").c_str(), 0666), 0);
  expect_refused("claude", "may be written by others");
}

TEST_F(Governance, ANameIsNoPath) {
  for (const char* id : {"../claude", "a/b", ".hidden", "."}) expect_refused(id, "cannot have");
}

TEST_F(Governance, WhatACeilingCannotSayIsAnError) {
  const std::string text =
      "version = 1\n[governance]\nagent = \"claude\"\n[fs]\nraed = [\"/usr\"]\n";
  put("governance/claude.toml", text);
  sign("claude", text);
  expect_refused("claude", "raed");
}

}  // namespace
}  // namespace cordon
