#include "egress/local_address.h"

#include <sys/un.h>

#include <cstring>

namespace cordon {

std::optional<LocalAddress> read_local_address(const GivenAddress& address) {
  constexpr std::size_t kBegin = offsetof(sockaddr_un, sun_path);
  if (address.size < kBegin || address.size > sizeof(sockaddr_un)) return std::nullopt;
  if (address.bytes.ss_family != AF_UNIX) return std::nullopt;
  if (address.size == kBegin) return LocalAddress{};
  const char* name = reinterpret_cast<const char*>(&address.bytes) + kBegin;
  const std::size_t size = address.size - kBegin;
  if (name[0] == '\0') {
    return LocalAddress{LocalAddress::Kind::Abstract, std::string(name + 1, size - 1)};
  }
  // A path that fills the address has no zero at its end.
  return LocalAddress{LocalAddress::Kind::Path, std::string(name, ::strnlen(name, size))};
}

}  // namespace cordon
