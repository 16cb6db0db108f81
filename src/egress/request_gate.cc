#include "egress/request_gate.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "egress/endpoint.h"

namespace cordon {
namespace {

Endpoint loopback4(std::uint16_t port) {
  Endpoint endpoint;
  endpoint.address.family = Address::Family::V4;
  endpoint.address.bytes = {127, 0, 0, 1};
  endpoint.port = port;
  return endpoint;
}

// The port of a socket's own end, or of its peer.
template <typename Ask>
std::uint16_t port_of(Ask ask, int socket) {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  if (ask(socket, reinterpret_cast<sockaddr*>(&bytes), &size) < 0) return 0;
  const auto endpoint = read_endpoint(bytes, size);
  return endpoint ? endpoint->port : 0;
}

ConnectedPair failed(int error) { return {Fd(), Fd(), error}; }

}  // namespace

ConnectedPair connect_over_loopback(int domain) {
  constexpr int kMostStrangers = 16;
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.valid()) return failed(errno);
  const SocketAddress any = write_endpoint(loopback4(0), AF_INET);
  if (::bind(listener.get(), any.get(), any.size) < 0 || ::listen(listener.get(), 1) < 0) {
    return failed(errno);
  }
  Fd client(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.valid()) return failed(errno);
  const SocketAddress there =
      write_endpoint(loopback4(port_of(::getsockname, listener.get())), domain);
  if (::connect(client.get(), there.get(), there.size) < 0) return failed(errno);
  const std::uint16_t own = port_of(::getsockname, client.get());
  // Another process of this host may have found the port first.
  for (int i = 0; i < kMostStrangers; ++i) {
    Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!server.valid()) return failed(errno);
    if (port_of(::getpeername, server.get()) == own) {
      return {std::move(client), std::move(server), 0};
    }
  }
  return failed(ECONNABORTED);
}

}  // namespace cordon
