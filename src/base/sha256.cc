// The EVP interface and SHA256() fetch an algorithm, which loads providers and reads openssl.cnf:
// milliseconds of every launch, and a file the caller's environment can name. The functions below
// only compute; they are deprecated for a reason that does not concern us. HMAC() fetches as well,
// so the two passes of RFC 2104 are written out.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/sha256.h"

#include "base/hmac.h"

#include <openssl/sha.h>

namespace cordon {
namespace {

constexpr std::size_t kBlock = 64;

}  // namespace

Digest sha256(std::string_view bytes) {
  SHA256_CTX context;
  Digest digest{};
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

// Both passes behind the block that the key fills.
struct Hmac::Begun {
  SHA256_CTX inner{};
  SHA256_CTX outer{};
};

Hmac::Hmac(std::span<const std::uint8_t, 32> key) {
  std::array<std::uint8_t, kBlock> inner{};
  std::array<std::uint8_t, kBlock> outer{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    const unsigned byte = i < key.size() ? key[i] : 0U;
    inner[i] = static_cast<std::uint8_t>(byte ^ 0x36U);
    outer[i] = static_cast<std::uint8_t>(byte ^ 0x5cU);
  }
  const auto begun = std::make_shared<Begun>();
  SHA256_Init(&begun->inner);
  SHA256_Update(&begun->inner, inner.data(), inner.size());
  SHA256_Init(&begun->outer);
  SHA256_Update(&begun->outer, outer.data(), outer.size());
  begun_ = begun;
}

Digest Hmac::of(std::initializer_list<std::string_view> pieces) const {
  Digest digest{};
  SHA256_CTX context = begun_->inner;
  for (const std::string_view piece : pieces) {
    SHA256_Update(&context, piece.data(), piece.size());
  }
  SHA256_Final(digest.data(), &context);
  context = begun_->outer;
  SHA256_Update(&context, digest.data(), digest.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

Digest hmac_sha256(std::span<const std::uint8_t, 32> key, std::string_view bytes) {
  return Hmac(key).of({bytes});
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex(2 * bytes.size(), '\0');
  auto at = hex.begin();
  for (const std::uint8_t byte : bytes) {
    *at++ = kDigits[byte >> 4U];
    *at++ = kDigits[byte & 0xFU];
  }
  return hex;
}

}  // namespace cordon
