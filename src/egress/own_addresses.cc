#include "egress/own_addresses.h"

#include <sys/un.h>

#include <ifaddrs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "egress/endpoint.h"
#include "policy/net_rules.h"

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

namespace {

constexpr int kBacklog = 128;

// An errno, or 0.
int listen_at(int domain, std::uint16_t port, Fd& listener) {
  Fd socket(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return errno;
  const int on = 1;
  // Else the connections of an earlier run hold the port for a minute.
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (domain == AF_INET6 &&
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) {
    return errno;
  }
  const SocketAddress address = write_endpoint(loopback_at(domain, port), domain);
  if (::bind(socket.get(), address.get(), address.size) < 0) return errno;
  if (::listen(socket.get(), kBacklog) < 0) return errno;
  listener = std::move(socket);
  return 0;
}

// The same port inside, at another one of the host.
std::string elsewhere(const PublishRule& rule) {
  constexpr std::uint16_t kFirstOfUsers = 1024;
  constexpr std::uint16_t kFromSystem = 8000;
  constexpr std::uint16_t kFurther = 10'000;
  PublishRule other = rule;
  const int port = rule.host_port;
  const bool low = port < 2 * kFurther;
  other.host_port = static_cast<std::uint16_t>(
      port < kFirstOfUsers ? port + kFromSystem : (low ? port + kFurther : port - kFurther));
  return quote(to_string(other));
}

std::string hint_for(int error, const PublishRule& rule) {
  if (error == EADDRINUSE) return "end what listens there, or publish " + elsewhere(rule);
  if (error == EACCES) return "ports below 1024 are for root: publish " + elsewhere(rule);
  return {};
}

}  // namespace

Result<std::vector<LoopbackPort>> listen_at_loopback(const std::vector<PublishRule>& rules) {
  std::vector<LoopbackPort> ports;
  for (const PublishRule& rule : rules) {
    LoopbackPort port{rule, {}};
    for (const int domain : {AF_INET, AF_INET6}) {
      Fd listener;
      const int error = listen_at(domain, rule.host_port, listener);
      const bool no_ipv6 = domain == AF_INET6 && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL);
      if (no_ipv6) continue;
      if (error != 0) {
        const std::string where = to_string(loopback_at(domain, rule.host_port));
        return fail(setup_error("cannot publish \"" + to_string(rule) + "\" at " + where, error,
                                hint_for(error, rule)));
      }
      port.listeners.push_back(std::move(listener));
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

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
