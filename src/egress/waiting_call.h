// WaitingCall: a system call inside a sandbox that waits for an answer. Whatever is read of it
// is checked to be its own: the call is seen still waiting after every look, so that its number
// cannot have passed to another process in between. Its memory is read once: what was judged is
// what is acted on.
#pragma once

#include <sys/socket.h>

#include <pthread.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "sys/notify.h"

namespace cordon {

// Signals are the supervisor's: a thread made while one of these lives takes none of them.

class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

// The address argument of a call, copied.
struct GivenAddress {
  sockaddr_storage bytes{};
  std::size_t size = 0;
};

// A copy of one of its sockets, with what the kernel says of it.
struct GivenSocket {
  Fd fd;
  int domain = 0;
  int type = 0;
  int protocol = 0;
  std::uint64_t network = 0;
  bool blocking = true;
};

// Where else in the process a socket is in use.
struct SocketUses {
  struct Holder {
    int fd = -1;
    sys::CloseOnExec close = sys::CloseOnExec::No;
  };
  // An epoll that watches it; `epoll` is a copy.
  struct Watch {
    Fd epoll;
    int fd = -1;
    std::uint32_t events = 0;
    std::uint64_t data = 0;
  };
  std::vector<Holder> holders;
  std::vector<Watch> watches;
};

// Functions answer 0 or an errno.
class WaitingCall {
 public:
  WaitingCall(int listener, const sys::Notification& call) : listener_(listener), call_(call) {}

  [[nodiscard]] int number() const { return call_.call; }
  [[nodiscard]] pid_t thread() const { return call_.thread; }
  [[nodiscard]] bool waiting() const { return sys::is_waiting(listener_, call_.id); }
  [[nodiscard]] int argument_as_int(std::size_t index) const {
    return static_cast<int>(call_.arguments[index]);
  }
  [[nodiscard]] std::uint64_t argument(std::size_t index) const { return call_.arguments[index]; }
  // What an argument points to. A path ends before its zero.
  int read_memory(std::size_t index, void* into, std::size_t size) const {
    return read_at(argument(index), into, size);
  }
  int read_at(std::uint64_t address, void* into, std::size_t size) const;
  int read_path(std::size_t index, std::string& path) const;
  int read_descriptor(int fd, Fd& into) { return copy(fd, into); }
  int read_address(GivenAddress& address) const { return read_address(1, address); }
  int read_address(std::size_t index, GivenAddress& address) const;  // its size is the next one
  int read_socket(GivenSocket& socket);                              // of argument 0
  // Every descriptor of the process that leads to the socket, and every epoll that watches it.
  int find_uses(int socket, SocketUses& uses);
  int put(int source, const SocketUses::Holder& holder) const;
  // Answers the call with a new descriptor of the caller's.
  int give(int source, sys::CloseOnExec close);
  // Answers it with a number.
  void answer(std::int64_t value);
  // Has the kernel carry it out: only where that is harmless whatever its arguments are by then.
  void let_continue();
  // At an address of the caller. Its memory is opened first and the call seen waiting after that,
  // so it is the caller's own even if its number passes to another process meanwhile.
  int write_memory(std::uint64_t address, const void* from, std::size_t size);
  [[nodiscard]] bool answered() const { return answered_; }

 private:
  int open();
  int copy(int fd, Fd& into);

  int listener_;
  const sys::Notification& call_;
  Fd pidfd_;
  bool answered_ = false;
  Fd memory_;
};

// What a waiting caller sees of files: its root, where it stands, its mask. Read from /proc and
// checked to be its own, as everything of a WaitingCall. Functions answer 0 or an errno.

int open_root_of(const WaitingCall& call, Fd& root);
int open_directory_of(const WaitingCall& call, Fd& directory);
// The same as a name below that root.
int read_directory_of(const WaitingCall& call, std::string& directory);
// A path argument as an absolute name below that root; `directory` is the descriptor at which it
// begins if it is relative, or AT_FDCWD. Links in it are as they are.
int read_name_of(WaitingCall& call, int directory, std::size_t index, std::string& name);
// What a descriptor of this process leads to; as its own view names it, if it was opened in another
// one. Empty if it cannot be told.
std::string name_of_descriptor(int descriptor);
int read_mask_of(const WaitingCall& call, std::uint32_t& mask);

}  // namespace cordon
