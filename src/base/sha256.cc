// The EVP interface and SHA256() fetch an algorithm, which loads providers and reads openssl.cnf:
// milliseconds of every launch, and a file the caller's environment can name. The functions below
// only compute; they are deprecated for a reason that does not concern us.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/sha256.h"

#include <openssl/sha.h>

#include <array>

namespace cordon {

std::string sha256_hex(std::string_view bytes) {
  SHA256_CTX context;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    hex.append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
  }
  return hex;
}

}  // namespace cordon
