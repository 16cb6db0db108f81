#include "faces/mcp/tools/secret_mask.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

using Environment = std::map<std::string, std::string>;

std::string masked(std::string_view text) { return SecretMask(Environment{}).mask(text).text; }

std::string letters(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += "aB3dE6gH9"[i % 9];
  return out;
}

TEST(SecretMask, HidesValuesOfSecretVariables) {
  const SecretMask mask(
      Environment{{"DEPLOY_TOKEN", "canary-value"}, {"EDITOR", "ordinary-value"}});
  const auto seen = mask.mask("a canary-value, twice: canary-value; ordinary-value");
  EXPECT_EQ(seen.text, "a [secret], twice: [secret]; ordinary-value");
  EXPECT_EQ(seen.count, 2U);
}

TEST(SecretMask, PrefersTheLongestValue) {
  const SecretMask mask(
      Environment{{"A_SECRET", "canary-value"}, {"B_SECRET", "canary-value-longer"}});
  EXPECT_EQ(mask.mask("canary-value-longer").text, "[secret]");
}

TEST(SecretMask, LeavesShortValuesAlone) {
  EXPECT_EQ(SecretMask(Environment{{"MY_TOKEN", "on"}}).mask("on and on").text, "on and on");
}

TEST(SecretMask, KnowsShapes) {
  for (const std::string& token : std::vector<std::string>{
           "ghp_" + letters(36), "github_pat_" + letters(40), "sk-ant-" + letters(40),
           std::string("AKIAABCDEFGHIJKLMNOP"), "glpat-" + letters(20), "xoxb-" + letters(30),
           "AIza" + letters(35), "npm_" + letters(36), "hf_" + letters(34),
           "eyJ" + letters(20) + ".eyJ" + letters(30) + "." + letters(43)}) {
    EXPECT_EQ(masked("x=" + token + " y"), "x=[secret] y") << token;
    EXPECT_EQ(masked(token), "[secret]") << token;
  }
}

TEST(SecretMask, LeavesOrdinaryTextAlone) {
  for (const std::string& text :
       std::vector<std::string>{std::string("sk-short"), "risk-" + letters(30), "AKIA and nothing",
                                "eyJust a word", std::string("sha256:") + letters(64),
                                std::string("-----BEGIN CERTIFICATE-----\nMII\n")}) {
    EXPECT_EQ(masked(text), text);
  }
}

TEST(SecretMask, HidesPrivateKeysToTheirEnd) {
  const std::string key =
      "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----";
  EXPECT_EQ(masked("a\n" + key + "\nb"), "a\n[secret]\nb");
  EXPECT_EQ(masked("a\n" + key.substr(0, 45)), "a\n[secret]");
}

TEST(SecretMask, ShowsNoPartOfASecretThatIsCut) {
  const std::string token = "ghp_" + letters(36);
  const std::string text = "before " + token + " after";
  const SecretMask mask({});
  const auto spans = mask.spans(text);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string first = SecretMask::part(text, spans, 0, cut).text;
    const std::string second = SecretMask::part(text, spans, cut, text.size()).text;
    const bool inside = cut > 7 && cut < 7 + token.size();
    EXPECT_EQ(first + second, inside ? "before [secret][secret] after" : "before [secret] after")
        << cut;
  }
}

TEST(SecretMask, ShowsNoPartOfASecretAtAGap) {
  const std::string token = "ghp_" + std::string("a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6");
  const std::string key =
      "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----";
  const SecretMask mask(Environment{{"MY_TOKEN", "canary value; of/many=signs"}});
  for (const std::string& secret : {token, std::string("canary value; of/many=signs"), key}) {
    const std::string text = "before " + secret + "\nafter";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      const std::string front = mask.mask_before_gap(text.substr(0, cut)).text;
      const std::string back = mask.mask_behind_gap(text.substr(cut)).text;
      for (std::size_t at = 0; secret != key && at + 8 <= secret.size(); ++at) {
        EXPECT_EQ(front.find(secret.substr(at, 8)), std::string::npos) << front;
        EXPECT_EQ(back.find(secret.substr(at, 8)), std::string::npos) << back;
      }
      EXPECT_EQ(front.find("abc"), std::string::npos) << front;
      EXPECT_EQ(back.find("def"), std::string::npos) << back;
    }
  }
  EXPECT_EQ(mask.mask_before_gap("an ordinary word").text, "an ordinary word");
  EXPECT_EQ(mask.mask_behind_gap("information, and 12345678 more").text,
            "information, and 12345678 more");
}

}  // namespace
}  // namespace cordon::mcp
