#include "base/base64.h"

#include <openssl/evp.h>

namespace cordon {

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const std::string copy(bytes);
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(copy.data()),
                                     static_cast<int>(copy.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > std::size_t{1} << 20U)
    return std::nullopt;
  const std::string copy(text);
  std::string out(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(copy.data()),
                                     static_cast<int>(copy.size()));
  if (length < 0) return std::nullopt;
  // It counts the padding as bytes.
  const std::size_t padding = copy.ends_with("==") ? 2 : copy.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

}  // namespace cordon
