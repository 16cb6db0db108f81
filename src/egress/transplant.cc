#include "egress/transplant.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

namespace cordon {
namespace {

int set_blocking(int fd, bool blocking) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return errno;
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  return wanted == flags || ::fcntl(fd, F_SETFL, wanted) == 0 ? 0 : errno;
}

int out_of_the_way(int fd, int number) { return fd == number ? ::dup(fd) : fd; }

// An epoll knows what it watches by file and number, so the number must be the caller's here too.
int move_watch(const SocketUses::Watch& watch, int old_socket, int connected) {
  const int epoll = out_of_the_way(watch.epoll.get(), watch.fd);
  const int before = out_of_the_way(old_socket, watch.fd);
  const int after = out_of_the_way(connected, watch.fd);
  epoll_event event{};
  event.events = watch.events;
  event.data.u64 = watch.data;
  if (::dup2(before, watch.fd) < 0) return errno;
  if (::epoll_ctl(epoll, EPOLL_CTL_DEL, watch.fd, nullptr) < 0 && errno != ENOENT) return errno;
  if (::dup2(after, watch.fd) < 0) return errno;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, watch.fd, &event) < 0 ? errno : 0;
}

// In a thread with a descriptor table of its own, where any number can be taken.
int move_watches(const SocketUses& uses, int old_socket, int connected) {
  int error = 0;
  const auto move = [&] {
    if (::unshare(CLONE_FILES) < 0) {
      error = errno;
      return;
    }
    for (const SocketUses::Watch& watch : uses.watches) {
      error = move_watch(watch, old_socket, connected);
      if (error != 0) return;
    }
  };
  try {
    std::thread(move).join();
  } catch (const std::system_error&) {
    return EAGAIN;
  }
  return error;
}

}  // namespace

int transplant(WaitingCall& call, const GivenSocket& old_socket, const Fd& connected) {
  if (const int error = set_blocking(connected.get(), old_socket.blocking); error != 0) {
    return error;
  }
  SocketUses uses;
  if (const int error = call.find_uses(old_socket.fd.get(), uses); error != 0) return error;
  const int target = call.argument_as_int(0);
  const auto is_target = [&](const SocketUses::Holder& holder) { return holder.fd == target; };
  // Gone meanwhile: another thread closed or replaced it.
  if (!std::ranges::any_of(uses.holders, is_target)) return EBADF;
  for (const SocketUses::Holder& holder : uses.holders) {
    if (const int error = call.put(connected.get(), holder); error != 0) return error;
  }
  if (uses.watches.empty()) return 0;
  return move_watches(uses, old_socket.fd.get(), connected.get());
}

}  // namespace cordon
