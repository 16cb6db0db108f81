// The low-level functions, for the reasons in sha256.cc.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/hmac_sha1.h"

#include <openssl/sha.h>

#include <algorithm>
#include <span>

namespace cordon {
namespace {

constexpr std::size_t kSha1Block = 64;

using Sha1 = std::array<std::uint8_t, 20>;

Sha1 sha1_of(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second) {
  SHA_CTX context;
  Sha1 digest{};
  SHA1_Init(&context);
  SHA1_Update(&context, first.data(), first.size());
  SHA1_Update(&context, second.data(), second.size());
  SHA1_Final(digest.data(), &context);
  return digest;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Sha1 sha1(std::string_view bytes) { return sha1_of(bytes_of(bytes), {}); }

Sha1 hmac_sha1(std::string_view key, std::string_view bytes) {
  std::array<std::uint8_t, kSha1Block> block{};
  const std::span<const std::uint8_t> given = bytes_of(key);
  if (given.size() > block.size()) {
    const Sha1 shorter = sha1_of(given, {});
    std::ranges::copy(shorter, block.begin());
  } else {
    std::ranges::copy(given, block.begin());
  }
  std::array<std::uint8_t, kSha1Block> inner{};
  std::array<std::uint8_t, kSha1Block> outer{};
  for (std::size_t i = 0; i < block.size(); ++i) {
    inner[i] = static_cast<std::uint8_t>(block[i] ^ 0x36U);
    outer[i] = static_cast<std::uint8_t>(block[i] ^ 0x5cU);
  }
  return sha1_of(outer, sha1_of(inner, bytes_of(bytes)));
}

}  // namespace cordon
