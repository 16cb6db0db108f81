#include "run/java_trust.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

std::string pem(std::string_view base64) {
  return "-----BEGIN CERTIFICATE-----\n" + std::string(base64) + "\n-----END CERTIFICATE-----\n";
}

// "one" and "two" as certificates.
const std::string kOne = pem("b25l");
const std::string kTwo = pem("dHdv");

bool contains_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(JavaTrust, KeepsWhatIsThereAndAddsTheAuthority) {
  const std::string host = java_trust("", kOne, "");
  EXPECT_EQ(host.substr(0, 12), std::string("\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1", 12));
  const std::string with = java_trust(host, "", kTwo);
  EXPECT_EQ(with[11], 2);
  // The entry is there as it was, the digest is another one.
  EXPECT_TRUE(contains_text(with, std::string_view(host).substr(12, host.size() - 12 - 20)));
  EXPECT_FALSE(contains_text(with, std::string_view(host).substr(host.size() - 20)));
  EXPECT_TRUE(contains_text(with, "two"));
}

TEST(JavaTrust, BeginsWithTheBundleWhereThereIsNoStoreOfThatForm) {
  const std::string host = java_trust("", kOne, "");
  const std::string whole = java_trust("", kOne, kTwo);
  for (const std::string& broken :
       {std::string(), std::string("PKCS12"), host.substr(0, host.size() - 24),
        std::string("\xfe\xed\xfe\xed\0\0\0\2\xff\xff\xff\xff", 12) + host.substr(12)})
    EXPECT_EQ(java_trust(broken, kOne, kTwo), whole);
}

TEST(JavaTrust, LeavesKeysOut) {
  std::string host = java_trust("", kOne, "");
  // One more entry, of kind 1: a key and no certificate.
  std::string key("\0\0\0\1\0\1k\0\0\0\0\0\0\0\0\0\0\0\6SECRET\0\0\0\0", 29);
  host[11] = 2;
  host.insert(12, key);
  const std::string with = java_trust(host, "", kTwo);
  EXPECT_EQ(with[11], 2);
  EXPECT_TRUE(contains_text(with, "one") && contains_text(with, "two"));
  EXPECT_FALSE(contains_text(with, "SECRET"));
}

}  // namespace
}  // namespace cordon
