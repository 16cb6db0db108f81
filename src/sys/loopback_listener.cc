#include "sys/loopback_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cordon::sys {

LoopbackListener::LoopbackListener()
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  constexpr int kBacklog = 8;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (socket_.valid() && ::bind(socket_.get(), generic, size) == 0 &&
      ::listen(socket_.get(), kBacklog) == 0 && ::getsockname(socket_.get(), generic, &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
}

bool LoopbackListener::was_reached() const {
  return Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
}

}  // namespace cordon::sys
