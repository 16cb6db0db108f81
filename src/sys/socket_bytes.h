// How many bytes TCP sockets of this network namespace carried, asked of the kernel's socket
// diagnostics: of a living socket at any time, of every other once, when it is destroyed. Needs no
// privilege and holds no socket: a copy of one would keep its connection from being closed.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

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

}  // namespace cordon::sys
