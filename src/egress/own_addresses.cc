#include "egress/own_addresses.h"

#include <ifaddrs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "egress/endpoint.h"

namespace cordon {

Result<std::vector<Address>> own_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) < 0) {
    return fail(setup_error("cannot read the addresses of this host", errno));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  std::vector<Address> own;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    sockaddr_storage bytes{};
    if (entry->ifa_addr->sa_family == AF_INET) {
      std::memcpy(&bytes, entry->ifa_addr, sizeof(sockaddr_in));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 six{};
      std::memcpy(&six, entry->ifa_addr, sizeof six);
      six.sin6_scope_id = 0;  // which cable it is on does not matter here
      std::memcpy(&bytes, &six, sizeof six);
    }
    if (const auto endpoint = read_endpoint(bytes, sizeof bytes)) own.push_back(endpoint->address);
  }
  return own;
}

bool has_public_ipv6(const std::vector<Address>& own) {
  return std::ranges::any_of(own, [](const Address& address) {
    const AddressKind kind = kind_of(address);
    return address.family == Address::Family::V6 &&
           (kind == AddressKind::Public || kind == AddressKind::Private);
  });
}

}  // namespace cordon
