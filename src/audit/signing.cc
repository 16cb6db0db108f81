#include "audit/signing.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "audit/decode_line.h"

namespace cordon::audit {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// The library asks for this before any other call. It fails only without a source of random
// numbers, and neither a signature of Ed25519 nor its check draws any.
void start_library() {
  static const int started = ::sodium_init();
  static_cast<void>(started);
}

struct KeyPair {
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> public_key{};
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
  explicit KeyPair(const Key& seed) {
    static_assert(std::tuple_size_v<Key> == crypto_sign_SEEDBYTES);
    start_library();
    crypto_sign_seed_keypair(public_key.data(), secret.data(), seed.data());
  }
  KeyPair(const KeyPair&) = delete;
  KeyPair& operator=(const KeyPair&) = delete;
  ~KeyPair() { sodium_memzero(secret.data(), secret.size()); }
};

}  // namespace

std::string public_key_of(const Key& seed) { return to_hex(KeyPair(seed).public_key); }

std::string sign(const Key& seed, std::string_view bytes) {
  const KeyPair pair(seed);
  std::array<unsigned char, crypto_sign_BYTES> signature{};
  crypto_sign_detached(signature.data(), nullptr, bytes_of(bytes), bytes.size(),
                       pair.secret.data());
  return to_hex(signature);
}

bool signature_holds(std::string_view public_key, std::string_view bytes,
                     std::string_view signature) {
  start_library();
  constexpr std::size_t kDigits = crypto_sign_BYTES;  // of each half
  const auto key = digest_from_hex(public_key);
  const auto first_half = digest_from_hex(signature.substr(0, kDigits));
  const auto second_half = digest_from_hex(signature.substr(std::min(signature.size(), kDigits)));
  if (!key || !first_half || !second_half) return false;
  std::array<unsigned char, crypto_sign_BYTES> signature_bytes{};
  std::ranges::copy(*second_half, std::ranges::copy(*first_half, signature_bytes.begin()).out);
  return crypto_sign_verify_detached(signature_bytes.data(), bytes_of(bytes), bytes.size(),
                                     key->data()) == 0;
}

}  // namespace cordon::audit
