#include "base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/hmac.h"

namespace cordon {
namespace {

TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// RFC 4231, test cases 1 and 2, whose keys are shorter than a block: padding with zeros to the 32
// bytes used here does not change an HMAC.
TEST(HmacSha256, MatchesThePublishedVectors) {
  Digest key{};
  std::fill_n(key.begin(), 20, std::uint8_t{0x0b});
  EXPECT_EQ(to_hex(hmac_sha256(key, "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  key = {'J', 'e', 'f', 'e'};
  EXPECT_EQ(to_hex(hmac_sha256(key, "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(HmacSha256, IsTheSameOfAnyPieces) {
  Digest key{};
  key[7] = 1;
  const std::string text(200, 'x');
  const Hmac hmac(key);
  const Hmac copy = hmac;
  const std::string_view all = text;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(hmac.of({all.substr(0, at), "", all.substr(at)}), hmac_sha256(key, text));
  }
  EXPECT_EQ(copy.of({text}), hmac.of({text}));
  EXPECT_NE(copy.of({"x"}), hmac.of({"y"}));
}

TEST(HmacSha256, DependsOnEveryByteOfTheKey) {
  Digest key{};
  const Digest before = hmac_sha256(key, "x");
  key[31] = 1;
  EXPECT_NE(hmac_sha256(key, "x"), before);
}

}  // namespace
}  // namespace cordon
