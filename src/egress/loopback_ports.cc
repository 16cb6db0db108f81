#include "egress/loopback_ports.h"

#include <cerrno>

#include "egress/endpoint.h"
#include "policy/publish_rule.h"

namespace cordon {
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

std::string hint_for(int error) {
  if (error == EADDRINUSE) return "end what listens there, or publish \"HOSTPORT:PORT\"";
  if (error == EACCES) return "ports below 1024 are for root: publish \"HOSTPORT:PORT\"";
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
                                hint_for(error)));
      }
      port.listeners.push_back(std::move(listener));
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace cordon
