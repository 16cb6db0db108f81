#include "egress/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/sockets.h"

namespace cordon {
namespace {

constexpr int kBufferLock = 72;  // SO_BUF_LOCK
constexpr int kSendLocked = 1;
constexpr int kReceiveLocked = 2;

struct Option {
  int level;
  int name;
};
// The priority comes last: the kernel derives one from the type of service.
constexpr Option kOptions[] = {
    {SOL_SOCKET, SO_KEEPALIVE},
    {IPPROTO_TCP, TCP_KEEPIDLE},
    {IPPROTO_TCP, TCP_KEEPINTVL},
    {IPPROTO_TCP, TCP_KEEPCNT},
    {IPPROTO_TCP, TCP_NODELAY},
    {IPPROTO_TCP, TCP_USER_TIMEOUT},
    {IPPROTO_TCP, TCP_NOTSENT_LOWAT},
    {SOL_SOCKET, SO_LINGER},
    {SOL_SOCKET, SO_OOBINLINE},
    {SOL_SOCKET, SO_RCVTIMEO},
    {SOL_SOCKET, SO_SNDTIMEO},
    {SOL_SOCKET, SO_RCVLOWAT},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IPV6, IPV6_TCLASS},
    {SOL_SOCKET, SO_PRIORITY},
};

// Setting a buffer's size doubles it.
void copy_buffer(int from, int to, int name) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (::getsockopt(from, SOL_SOCKET, name, &bytes, &size) < 0) return;
  bytes /= 2;
  (void)::setsockopt(to, SOL_SOCKET, name, &bytes, sizeof bytes);
}

}  // namespace

void copy_options(int from, int to) {
  for (const auto& [level, name] : kOptions) {
    char wanted[16] = {};
    char present[16] = {};
    socklen_t wanted_size = sizeof wanted;
    socklen_t present_size = sizeof present;
    // One that this family or kernel does not have is not missed.
    if (::getsockopt(from, level, name, wanted, &wanted_size) < 0) continue;
    if (::getsockopt(to, level, name, present, &present_size) < 0) continue;
    if (std::memcmp(wanted, present, sizeof wanted) == 0) continue;
    (void)::setsockopt(to, level, name, wanted, wanted_size);
  }
  // A size that the program did not choose is the kernel's to adapt.
  int locks = 0;
  socklen_t size = sizeof locks;
  if (::getsockopt(from, SOL_SOCKET, kBufferLock, &locks, &size) < 0) return;
  if ((locks & kSendLocked) != 0) copy_buffer(from, to, SO_SNDBUF);
  if ((locks & kReceiveLocked) != 0) copy_buffer(from, to, SO_RCVBUF);
}

namespace {

std::optional<std::chrono::milliseconds> timeout_of(int socket, int name) {
  timeval time{};
  socklen_t size = sizeof time;
  if (::getsockopt(socket, SOL_SOCKET, name, &time, &size) < 0) return std::nullopt;
  if (time.tv_sec == 0 && time.tv_usec == 0) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::seconds(time.tv_sec) +
                                                      std::chrono::microseconds(time.tv_usec));
}

}  // namespace

std::optional<std::chrono::milliseconds> connect_timeout(int socket) {
  return timeout_of(socket, SO_SNDTIMEO);
}

std::optional<std::chrono::milliseconds> receive_timeout(int socket) {
  return timeout_of(socket, SO_RCVTIMEO);
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
  sys::close_with_reset(std::move(outside_));
  sys::close_with_reset(std::move(inside_));
}

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Long enough for a far host, short enough that the next address still gets its chance.
constexpr milliseconds kOneOfSeveral{3000};

int try_target(const SocketAddress& address, milliseconds time, int stop, const Fd& socket) {
  if (::connect(socket.get(), address.get(), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (const int error = wait_until_decided(socket.get(), time, stop); error != 0) return error;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

}  // namespace

int wait_until_decided(int socket, milliseconds time, int stop) {
  const auto deadline = Clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    pollfd polled[] = {{socket, POLLOUT, 0}, {stop, POLLIN, 0}};
    const int ready = ::poll(polled, 2, std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return errno;
    if (polled[1].revents != 0) return ECONNABORTED;
    return ready == 0 ? ETIMEDOUT : 0;
  }
}

Dialled dial(std::span<const Endpoint> targets, int domain, int like, milliseconds time, int stop) {
  const auto deadline = Clock::now() + time;
  Dialled result;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (i + 1 < targets.size()) left = std::min(left, kOneOfSeveral);
    result.target = targets[i];
    Fd socket(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) {
      result.error = errno;
      return result;
    }
    copy_options(like, socket.get());
    result.error = try_target(write_endpoint(targets[i], domain), left, stop, socket);
    // Nobody is there. The program would be answered by itself, and hold the port against the
    // server that it waits for.
    if (result.error == 0 && sys::is_connected_to_itself(socket.get())) {
      sys::close_with_reset(std::move(socket));
      result.error = ECONNREFUSED;
    }
    if (result.error == 0) {
      result.socket = std::move(socket);
      return result;
    }
    if (result.error == ECONNABORTED || Clock::now() >= deadline) return result;
  }
  return result;
}

}  // namespace cordon
