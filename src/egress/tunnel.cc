#include "egress/tunnel.h"

#include <sys/socket.h>

#include <cerrno>

namespace cordon {

void close_with_reset(Fd socket) {
  const linger none{1, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  socket.reset();
}

Tunnel::Tunnel(Fd outside, Fd inside) : outside_(std::move(outside)), inside_(std::move(inside)) {
  inward_.bytes = std::make_unique<std::array<char, kBuffer>>();
  outward_.bytes = std::make_unique<std::array<char, kBuffer>>();
}

std::array<pollfd, 2> Tunnel::wanted() const {
  const auto side = [](int fd, const Flow& from_it, const Flow& to_it) {
    short events = 0;
    if (!from_it.source_ended && !from_it.holds()) events |= POLLIN;
    if (to_it.holds()) events |= POLLOUT;
    return pollfd{events == 0 ? -1 : fd, events, 0};
  };
  return {side(outside_.get(), inward_, outward_), side(inside_.get(), outward_, inward_)};
}

// Until nothing more can be moved without waiting, or one buffer's worth was: others wait too.
Tunnel::Step Tunnel::move(int from, int to, Flow& flow) {
  for (bool filled = false;;) {
    while (flow.holds()) {
      const ssize_t sent = ::send(to, flow.bytes->data() + flow.begin, flow.end - flow.begin,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return errno == EAGAIN ? Step::Waits : Step::Broke;
      flow.begin += static_cast<std::size_t>(sent);
      flow.carried += static_cast<std::uint64_t>(sent);
    }
    if (flow.source_ended) {
      if (!flow.told && ::shutdown(to, SHUT_WR) < 0) return Step::Broke;
      flow.told = true;
      return Step::Waits;
    }
    if (filled) return Step::Waits;
    const ssize_t got = ::recv(from, flow.bytes->data(), flow.bytes->size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? Step::Waits : Step::Broke;
    flow.begin = 0;
    flow.end = static_cast<std::size_t>(got);
    flow.source_ended = got == 0;
    filled = true;
  }
}

bool Tunnel::carry() {
  if (move(outside_.get(), inside_.get(), inward_) == Step::Broke ||
      move(inside_.get(), outside_.get(), outward_) == Step::Broke) {
    break_off();
    return false;
  }
  if (!inward_.over() || !outward_.over()) return true;
  outside_.reset();
  inside_.reset();
  return false;
}

void Tunnel::break_off() {
  close_with_reset(std::move(outside_));
  close_with_reset(std::move(inside_));
}

}  // namespace cordon
