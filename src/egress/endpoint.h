// Endpoint: an address and a port, as the kernel writes them and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>

#include "policy/address.h"

namespace cordon {

struct Endpoint {
  Address address;
  std::uint16_t port = 0;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// What `size` bytes of a program's address name; nothing if the kernel would not take them for an
// IPv4 or IPv6 address. An IPv6 address with a scope is none: interfaces inside and outside differ.
std::optional<Endpoint> read_endpoint(const sockaddr_storage& bytes, std::size_t size);

// What the kernel wants at least on a socket of that domain.
std::size_t smallest_address(int domain);

// For a socket of `domain`: IPv4 on an IPv6 socket becomes a mapped address.
SocketAddress write_endpoint(const Endpoint& endpoint, int domain);

// 127.0.0.1 or ::1.
Endpoint loopback_at(int domain, std::uint16_t port);

// "[2001:db8::1]:443".
std::string to_string(const Endpoint& endpoint);

}  // namespace cordon
