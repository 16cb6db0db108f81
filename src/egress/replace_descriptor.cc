// Replacing a socket under a program
//
// In network mode `allow` a sandbox has a network of its own with nothing in it. A program calls
// connect, the filter stops the call, and the broker judges the address and dials from the host's
// network, where the route is. A socket belongs to one network namespace for its whole life. So the
// program cannot keep the socket it made: the connected one has to take its place, under the same
// number, before connect returns. (A sandbox that shares the host's network may not connect by
// itself, and is served in the same way.)
//
// The kernel gives the means: SECCOMP_IOCTL_NOTIF_ADDFD with a chosen number puts an open file into
// the table of the process that waits, as dup2 would, while its thread is stopped in the call. What
// is left is everything else that knew the old socket.
//
//   Other numbers.     dup(2) makes several descriptors of one socket. Every number of the process
//                      whose link in /proc/PID/fd names the inode is replaced, with its own
//                      close-on-exec flag. O_NONBLOCK belongs to the open file and is copied.
//   Epolls.            An epoll remembers file and number. It would go on watching the old socket,
//                      and the program would wait for ever. Its watches move along: made for the
//                      new socket first, silent, because that can fail; armed after the descriptors
//                      are replaced. At no time is a descriptor in use that nothing watches.
//   Other processes.   A descriptor can be put into the calling process alone. A child that holds
//                      the socket would keep one that is not connected, and two processes that
//                      believe they share a connection would not. So every process of the sandbox
//                      is looked through, and as long as another one holds the socket the call is
//                      refused, with that process in the report.
//
// One kind of holder is harmless: every program that starts another forks first, and for a moment
// the child holds a copy of everything, which it closes when it executes if the flag says so
// (PF_FORKNOEXEC, and close-on-exec on each of its copies). So whoever holds the socket at the
// first look has a second to let go, and such a child three: on a busy machine its turn to execute
// comes late. One that was forked after that look is not waited for, or a busy program would never
// connect.
//
// Any step may fail, and until the last one the program must be able to go on with what it had. The
// order is therefore: find all uses, look for other holders, make the watches, put the descriptors
// (taking back those that were put if one fails), arm the watches. Where a step fails, connect
// answers an error and the old socket is where it was.
//
// What is read of the caller is checked to be the caller's: a WaitingCall is seen still waiting
// after each look, so its process number cannot have passed to another process meanwhile. Another
// thread may close the number in the middle; then it is not among the uses, and the answer is
// EBADF.
#include "egress/replace_descriptor.h"

#include <sys/epoll.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "base/fd.h"

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

// Both sockets can be watched under one number at a time, since an epoll tells them apart by the
// file. An errno if a watch cannot be made: then none is.
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

// Takes the prepared ones back.
void forget_watches(Watches watches, int connected) {
  (void)in_own_table(watches, connected, [&](const OwnTable& table) {
    return take_back(table, watches, watches.size());
  });
}

// Arms the prepared ones and ends the old.
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

constexpr int kLooks = 100;
constexpr int kLooksAtPassing = 300;  // while all that hold it are about to execute
constexpr std::chrono::milliseconds kBetweenLooks{10};

int set_blocking(int fd, bool blocking) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return errno;
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  return wanted == flags || ::fcntl(fd, F_SETFL, wanted) == 0 ? 0 : errno;
}

// What is there at first has time to go away; a process that was forked since counts only if it
// stays what it is.
int refuse_shared(const WaitingCall& call, int socket, Neighbours neighbours, std::string& reason) {
  struct stat status {};
  if (::fstat(socket, &status) < 0) return errno;
  std::set<pid_t> at_first;
  std::vector<SocketHolder> holders;
  for (int look = 0;; ++look) {
    if (look > 0) std::this_thread::sleep_for(kBetweenLooks);
    if (const int error = find_other_holders(call.thread(), status.st_ino, neighbours, holders);
        error != 0) {
      return error;
    }
    if (look == 0) {
      for (const SocketHolder& holder : holders) at_first.insert(holder.process);
    }
    std::erase_if(holders, [&](const SocketHolder& holder) {
      return holder.in_passing && !at_first.contains(holder.process);
    });
    if (holders.empty()) return 0;
    const bool passing = std::ranges::all_of(holders, &SocketHolder::in_passing);
    if (look + 1 >= (passing ? kLooksAtPassing : kLooks)) break;
  }
  reason = "the socket is shared with process " + std::to_string(holders.front().process) +
           ", where it would stay unconnected";
  return EACCES;
}

int put_everywhere(const WaitingCall& call, const SocketUses& uses, int connected, int old_socket) {
  for (std::size_t i = 0; i < uses.holders.size(); ++i) {
    const int error = call.put(connected, uses.holders[i]);
    if (error == 0) continue;
    while (i-- > 0) (void)call.put(old_socket, uses.holders[i]);
    return error;
  }
  return 0;
}

}  // namespace

int replace_descriptor(WaitingCall& call, const GivenSocket& old_socket, const Fd& connected,
                       Neighbours neighbours, std::string& reason) {
  reason = "the connected socket could not be handed over";
  const int before = old_socket.fd.get();
  const int after = connected.get();
  if (const int error = set_blocking(after, old_socket.blocking); error != 0) return error;
  SocketUses uses;
  if (const int error = call.find_uses(before, uses); error != 0) return error;
  const int target = call.argument_as_int(0);
  const auto is_target = [&](const SocketUses::Holder& holder) { return holder.fd == target; };
  // Gone meanwhile: another thread closed or replaced it.
  if (!std::ranges::any_of(uses.holders, is_target)) return EBADF;
  if (const int error = refuse_shared(call, before, neighbours, reason); error != 0) return error;
  if (const int error = prepare_watches(uses.watches, after); error != 0) return error;
  if (const int error = put_everywhere(call, uses, after, before); error != 0) {
    forget_watches(uses.watches, after);
    return error;
  }
  finish_watches(uses.watches, before, after);
  reason.clear();
  return 0;
}

}  // namespace cordon
