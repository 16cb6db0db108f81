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

}  // namespace cordon
