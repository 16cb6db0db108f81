#include "egress/dial.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "egress/socket_options.h"

namespace cordon {
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
    if (result.error == 0) {
      result.socket = std::move(socket);
      return result;
    }
    if (result.error == ECONNABORTED || Clock::now() >= deadline) return result;
  }
  return result;
}

}  // namespace cordon
