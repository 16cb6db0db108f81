#include "egress/move_watches.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

namespace cordon {
namespace {

using Watches = std::span<const SocketUses::Watch>;

// The descriptors that are needed, in a table of this thread's own and out of the way of the
// numbers that the program uses: any of those can then be taken.
class OwnTable {
 public:
  // 0, or an errno.
  int open(Watches watches, int socket) {
    if (::unshare(CLONE_FILES) < 0) return errno;
    int highest = 0;
    for (const SocketUses::Watch& watch : watches) highest = std::max(highest, watch.fd);
    const auto away = [&](int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, highest + 1); };
    socket_ = away(socket);
    if (socket_ < 0) return errno;
    for (const SocketUses::Watch& watch : watches) {
      epolls_.push_back(away(watch.epoll.get()));
      if (epolls_.back() < 0) return errno;
    }
    return 0;
  }
  // The socket under the number of that watch.
  int control(Watches watches, std::size_t index, int operation, epoll_event event) const {
    const int number = watches[index].fd;
    if (::dup2(socket_, number) < 0) return errno;
    return ::epoll_ctl(epolls_[index], operation, number, &event) < 0 ? errno : 0;
  }

 private:
  int socket_ = -1;
  std::vector<int> epolls_;
};

template <typename Body>
int in_own_table(Watches watches, int socket, Body body) {
  if (watches.empty()) return 0;
  int error = 0;
  const auto run = [&] {
    OwnTable table;
    error = table.open(watches, socket);
    if (error == 0) error = body(table);
  };
  try {
    std::thread(run).join();
  } catch (const std::system_error&) {
    return EAGAIN;
  }
  return error;
}

epoll_event event_of(const SocketUses::Watch& watch) {
  epoll_event event{};
  event.events = watch.events;
  event.data.u64 = watch.data;
  return event;
}

// One that shares its wake-ups cannot be changed later.
bool is_exclusive(const SocketUses::Watch& watch) { return (watch.events & EPOLLEXCLUSIVE) != 0; }

int take_back(const OwnTable& table, Watches watches, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) (void)table.control(watches, i, EPOLL_CTL_DEL, {});
  return 0;
}

}  // namespace

int prepare_watches(Watches watches, int connected) {
  return in_own_table(watches, connected, [&](const OwnTable& table) {
    for (std::size_t i = 0; i < watches.size(); ++i) {
      epoll_event event = event_of(watches[i]);
      if (!is_exclusive(watches[i])) event.events = 0;
      const int error = table.control(watches, i, EPOLL_CTL_ADD, event);
      if (error == 0) continue;
      take_back(table, watches, i);
      return error;
    }
    return 0;
  });
}

void forget_watches(Watches watches, int connected) {
  (void)in_own_table(watches, connected, [&](const OwnTable& table) {
    return take_back(table, watches, watches.size());
  });
}

void finish_watches(Watches watches, int old_socket, int connected) {
  // Only a program that ended the watch meanwhile makes this fail.
  (void)in_own_table(watches, connected, [&](const OwnTable& table) {
    for (std::size_t i = 0; i < watches.size(); ++i) {
      if (!is_exclusive(watches[i])) {
        (void)table.control(watches, i, EPOLL_CTL_MOD, event_of(watches[i]));
      }
    }
    return 0;
  });
  // The kernel ends them itself when the last descriptor of the old socket is closed.
  (void)in_own_table(watches, old_socket, [&](const OwnTable& table) {
    return take_back(table, watches, watches.size());
  });
}

}  // namespace cordon
