#include "egress/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstring>

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

}  // namespace cordon
