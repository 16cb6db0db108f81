// How many bytes TCP sockets of this network namespace carried, asked of the kernel's socket
// diagnostics: of a living socket at any time, of every other once, when it is destroyed. Needs no
// privilege and holds no socket: a copy of one would keep its connection from being closed.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.h"

namespace cordon::sys {

struct SocketBytes {
  std::uint64_t sent = 0;  // that the program wrote, on their way or not
  std::uint64_t received = 0;
};

// What the kernel finds a socket by.
struct SocketName {
  std::uint64_t cookie = 0;
  sockaddr_storage local{};
  sockaddr_storage peer{};
};
std::optional<SocketName> name_of_socket(int socket);

// A non-blocking descriptor on which every TCP socket of this network tells its end; -errno.
int watch_socket_ends();
struct SocketEnd {
  std::uint64_t cookie = 0;
  SocketBytes bytes;
};
// 0, -EAGAIN when there is none, -ENOBUFS when some were lost, or another -errno.
int next_socket_end(int watch, SocketEnd& end);

// A descriptor to ask on, or -errno.
int open_socket_questions();
// 0, -ENOENT if it is gone, or another -errno.
int ask_socket_bytes(int questions, const SocketName& name, SocketBytes& bytes);

// A source of sockets: one end of a local socket pair is held by a process in another network
// namespace and answers each question with a new socket of that network. A socket stays in the
// network it was made in, whoever holds it.

// Answers one question; negative when there is nobody left to ask. No allocation.
int give_socket(int source);
// A new non-blocking TCP socket of that network, or -errno. Waits a few seconds at most.
int take_socket(int taker, int domain);

// One message over a local socket with descriptors beside it. No allocation.

inline constexpr std::size_t kMostPassed = 5;

struct Passed {
  std::array<int, kMostPassed> descriptors{};  // close on exec
  std::size_t count = 0;
};

// Bytes sent, or negative with errno.
ssize_t send_passing(int socket, const void* data, std::size_t size, std::span<const int> passed);
// Bytes received, or negative with errno; interrupted calls are repeated.
ssize_t receive_passing(int socket, void* data, std::size_t size, Passed& passed);

// Where nobody listens at a port of this host, the kernel may give a socket the very port that it
// is to reach, one out of some ten thousand times: then it is connected with itself, and whoever
// uses it hears his own words.
bool is_connected_to_itself(int socket);
// The other end sees a reset, not an end, and the port is free at once: one that ended in order is
// kept for a minute.
void close_with_reset(Fd socket);

// A port on this network's loopback that accepts, for attempts to reach it.

class LoopbackListener {
 public:
  LoopbackListener();

  [[nodiscard]] std::uint16_t port() const { return port_; }  // zero: it could not be opened
  // True once for every caller. One that came is in the queue already: connect(2) returns after
  // that.
  [[nodiscard]] bool was_reached() const;

 private:
  Fd socket_;
  std::uint16_t port_ = 0;
};

}  // namespace cordon::sys
