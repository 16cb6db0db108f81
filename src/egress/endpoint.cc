#include "egress/endpoint.h"

#include <algorithm>
#include <cstring>

namespace cordon {
namespace {

template <typename T>
SocketAddress stored(const T& address) {
  SocketAddress result;
  std::memcpy(&result.storage, &address, sizeof address);
  result.size = sizeof address;
  return result;
}

}  // namespace

std::size_t smallest_address(int domain) {
  return domain == AF_INET ? sizeof(sockaddr_in) : offsetof(sockaddr_in6, sin6_scope_id);
}

std::optional<Endpoint> read_endpoint(const sockaddr_storage& bytes, std::size_t size) {
  Endpoint endpoint;
  if (size < smallest_address(bytes.ss_family)) return std::nullopt;
  if (bytes.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &bytes, sizeof four);
    std::memcpy(endpoint.address.bytes.data(), &four.sin_addr, sizeof four.sin_addr);
    endpoint.port = ntohs(four.sin_port);
    return endpoint;
  }
  if (bytes.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &bytes, std::min(size, sizeof six));
    if (six.sin6_scope_id != 0) return std::nullopt;
    endpoint.address.family = Address::Family::V6;
    std::memcpy(endpoint.address.bytes.data(), &six.sin6_addr, sizeof six.sin6_addr);
    endpoint.port = ntohs(six.sin6_port);
    return endpoint;
  }
  return std::nullopt;
}

SocketAddress write_endpoint(const Endpoint& endpoint, int domain) {
  const std::uint8_t* bytes = endpoint.address.bytes.data();
  const bool four = endpoint.address.family == Address::Family::V4;
  if (domain == AF_INET && four) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    std::memcpy(&address.sin_addr, bytes, sizeof address.sin_addr);
    return stored(address);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(endpoint.port);
  if (four) {
    address.sin6_addr.s6_addr[10] = 0xff;
    address.sin6_addr.s6_addr[11] = 0xff;
    std::memcpy(address.sin6_addr.s6_addr + 12, bytes, 4);
  } else {
    std::memcpy(&address.sin6_addr, bytes, sizeof address.sin6_addr);
  }
  return stored(address);
}

Endpoint loopback_at(int domain, std::uint16_t port) {
  Endpoint endpoint;
  endpoint.port = port;
  if (domain == AF_INET) {
    endpoint.address.bytes[0] = 127;
    endpoint.address.bytes[3] = 1;
  } else {
    endpoint.address.family = Address::Family::V6;
    endpoint.address.bytes[15] = 1;
  }
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  std::string text = to_string(endpoint.address);
  if (endpoint.address.family == Address::Family::V6) text = "[" + text + "]";
  return text.append(":").append(std::to_string(endpoint.port));
}

}  // namespace cordon
