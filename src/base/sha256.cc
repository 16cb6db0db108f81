// The EVP interface and SHA256() fetch an algorithm, which loads providers and reads openssl.cnf:
// milliseconds of every launch, and a file the caller's environment can name. The functions below
// only compute; they are deprecated for a reason that does not concern us. HMAC() fetches as well,
// so the two passes of RFC 2104 are written out.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/sha256.h"

#include <openssl/sha.h>

namespace cordon {
namespace {

constexpr std::size_t kBlock = 64;

Digest digest_of(std::string_view first, std::string_view second) {
  SHA256_CTX context;
  Digest digest{};
  SHA256_Init(&context);
  SHA256_Update(&context, first.data(), first.size());
  SHA256_Update(&context, second.data(), second.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

std::string_view view_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Digest sha256(std::string_view bytes) { return digest_of(bytes, {}); }

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

Digest hmac_sha256(std::span<const std::uint8_t, 32> key, std::string_view bytes) {
  std::array<std::uint8_t, kBlock> inner{};
  std::array<std::uint8_t, kBlock> outer{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    const unsigned byte = i < key.size() ? key[i] : 0U;
    inner[i] = static_cast<std::uint8_t>(byte ^ 0x36U);
    outer[i] = static_cast<std::uint8_t>(byte ^ 0x5cU);
  }
  const Digest first = digest_of(view_of(inner), bytes);
  return digest_of(view_of(outer), view_of(first));
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
