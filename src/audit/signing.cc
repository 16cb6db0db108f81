#include "audit/signing.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "audit/record_line.h"

namespace cordon::audit {
namespace {

constexpr std::size_t kSignature = 64;
constexpr std::size_t kPublicKey = 32;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using PKey = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

PKey private_key(const Key& seed) {
  return PKey(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
}

Error broken() { return audit_error("the cryptographic library cannot sign", 0); }

}  // namespace

Result<std::string> public_key_of(const Key& seed) {
  const PKey key = private_key(seed);
  std::array<std::uint8_t, kPublicKey> bytes{};
  std::size_t length = bytes.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &length) != 1) {
    return fail(broken());
  }
  return to_hex(bytes);
}

Result<std::string> sign(const Key& seed, std::string_view bytes) {
  const PKey key = private_key(seed);
  const Context context(EVP_MD_CTX_new());
  std::array<std::uint8_t, kSignature> signature{};
  std::size_t length = signature.size();
  if (!key || !context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &length, bytes_of(bytes), bytes.size()) !=
          1) {
    return fail(broken());
  }
  return to_hex(signature);
}

bool signature_holds(std::string_view public_key, std::string_view bytes,
                     std::string_view signature) {
  const auto key_bytes = digest_from_hex(public_key);
  const auto first_half = digest_from_hex(signature.substr(0, kSignature));
  const auto second_half =
      digest_from_hex(signature.substr(std::min(signature.size(), kSignature)));
  if (!key_bytes || !first_half || !second_half) return false;
  std::array<std::uint8_t, kSignature> signature_bytes{};
  std::ranges::copy(*second_half, std::ranges::copy(*first_half, signature_bytes.begin()).out);
  const PKey key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key_bytes->data(), key_bytes->size()));
  const Context context(EVP_MD_CTX_new());
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature_bytes.data(), signature_bytes.size(),
                          bytes_of(bytes), bytes.size()) == 1;
}

}  // namespace cordon::audit
