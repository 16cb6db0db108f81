#include "sys/sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

namespace cordon::sys {
namespace {

// The part of the kernel's tcp_info that is read here; it only ever grows at its end.
constexpr std::size_t kReceivedAt = 128;  // tcpi_bytes_received
constexpr std::size_t kUnsentAt = 144;    // tcpi_notsent_bytes
constexpr std::size_t kSentAt = 200;      // tcpi_bytes_sent, what was sent twice included
constexpr std::size_t kResentAt = 208;    // tcpi_bytes_retrans
constexpr std::size_t kInfoSize = 216;

constexpr std::size_t kBuffer = 8192;
constexpr int kWatchBuffer = 4 << 20;

using Bytes = std::span<const unsigned char>;

// A part of a message; the caller has seen that it is there.
template <typename T>
T read_at(Bytes bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::uint64_t cookie_of(const inet_diag_sockid& id) {
  return std::uint64_t{id.idiag_cookie[1]} << 32U | id.idiag_cookie[0];
}

// What follows the header of a message, if it is of that type and whole.
std::optional<Bytes> content_of(Bytes message, std::uint16_t type, std::size_t smallest) {
  if (message.size() < sizeof(nlmsghdr)) return std::nullopt;
  const auto header = read_at<nlmsghdr>(message, 0);
  if (header.nlmsg_type != type || header.nlmsg_len > message.size() ||
      header.nlmsg_len < sizeof(nlmsghdr) + smallest) {
    return std::nullopt;
  }
  return message.subspan(sizeof(nlmsghdr), header.nlmsg_len - sizeof(nlmsghdr));
}

// One message about a socket; false if it does not say how many bytes.
bool read_message(Bytes message, SocketEnd& found) {
  const auto content = content_of(message, SOCK_DIAG_BY_FAMILY, sizeof(inet_diag_msg));
  if (!content) return false;
  found.cookie = cookie_of(read_at<inet_diag_msg>(*content, 0).id);
  Bytes left = content->subspan(sizeof(inet_diag_msg));
  while (left.size() >= sizeof(rtattr)) {
    const auto attribute = read_at<rtattr>(left, 0);
    if (attribute.rta_len < sizeof(rtattr) || attribute.rta_len > left.size()) return false;
    const Bytes info = left.subspan(sizeof(rtattr), attribute.rta_len - sizeof(rtattr));
    if (attribute.rta_type == INET_DIAG_INFO && info.size() >= kInfoSize) {
      found.bytes.received = read_at<std::uint64_t>(info, kReceivedAt);
      found.bytes.sent = read_at<std::uint64_t>(info, kSentAt) -
                         read_at<std::uint64_t>(info, kResentAt) +
                         read_at<std::uint32_t>(info, kUnsentAt);
      return true;
    }
    const std::size_t step = (std::size_t{attribute.rta_len} + 3) & ~std::size_t{3};
    left = left.subspan(std::min(step, left.size()));
  }
  return false;
}

void set_endpoint(const sockaddr_storage& address, std::uint16_t& port, std::uint32_t* words) {
  if (address.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    port = four.sin_port;
    std::memcpy(words, &four.sin_addr, sizeof four.sin_addr);
  } else {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    port = six.sin6_port;
    std::memcpy(words, &six.sin6_addr, sizeof six.sin6_addr);
  }
}

int open_diagnostics(int flags, std::uint32_t groups) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_SOCK_DIAG);
  if (fd < 0) return -errno;
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = -errno;
  ::close(fd);
  return error;
}

}  // namespace

std::optional<SocketName> name_of_socket(int socket) {
  SocketName name;
  socklen_t size = sizeof name.cookie;
  if (::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &name.cookie, &size) < 0) return std::nullopt;
  size = sizeof name.local;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name.local), &size) < 0) {
    return std::nullopt;
  }
  size = sizeof name.peer;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name.peer), &size) < 0) {
    return std::nullopt;
  }
  return name;
}

int watch_socket_ends() {
  constexpr std::uint32_t kGroups =
      1U << (SKNLGRP_INET_TCP_DESTROY - 1) | 1U << (SKNLGRP_INET6_TCP_DESTROY - 1);
  const int fd = open_diagnostics(SOCK_NONBLOCK, kGroups);
  if (fd < 0) return fd;
  // Many sockets may end at once; what does not fit is lost. Only root may go beyond the system's
  // bound.
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kWatchBuffer, sizeof kWatchBuffer) < 0) {
    (void)::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kWatchBuffer, sizeof kWatchBuffer);
  }
  return fd;
}

int next_socket_end(int watch, SocketEnd& end) {
  unsigned char buffer[kBuffer];
  for (;;) {
    const ssize_t got = ::recv(watch, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (read_message({buffer, static_cast<std::size_t>(got)}, end)) return 0;
  }
}

int open_socket_questions() { return open_diagnostics(0, 0); }

int ask_socket_bytes(int questions, const SocketName& name, SocketBytes& bytes) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 question;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.question.sdiag_family = static_cast<std::uint8_t>(name.local.ss_family);
  request.question.sdiag_protocol = IPPROTO_TCP;
  request.question.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.question.idiag_states = ~std::uint32_t{0};
  inet_diag_sockid& id = request.question.id;
  set_endpoint(name.local, id.idiag_sport, id.idiag_src);
  set_endpoint(name.peer, id.idiag_dport, id.idiag_dst);
  id.idiag_cookie[0] = static_cast<std::uint32_t>(name.cookie);
  id.idiag_cookie[1] = static_cast<std::uint32_t>(name.cookie >> 32U);
  if (::send(questions, &request, sizeof request, 0) < 0) return -errno;
  unsigned char buffer[kBuffer];
  ssize_t got = 0;
  do {
    got = ::recv(questions, buffer, sizeof buffer, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -errno;
  const Bytes answer{buffer, static_cast<std::size_t>(got)};
  if (const auto refusal = content_of(answer, NLMSG_ERROR, sizeof(nlmsgerr))) {
    const int error = read_at<nlmsgerr>(*refusal, 0).error;
    return error == 0 ? -EPROTO : error;
  }
  SocketEnd found;
  if (!read_message(answer, found)) return -ENOENT;
  bytes = found.bytes;
  return 0;
}

namespace {

constexpr int kLookTimeoutMs = 5000;

struct Question {
  int domain = 0;
};
// With the socket beside it if the error is zero.
struct Answer {
  int error = 0;
};

}  // namespace

int give_socket(int source) {
  Question question;
  const ssize_t got = ::recv(source, &question, sizeof question, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got != static_cast<ssize_t>(sizeof question)) return -EPIPE;
  const bool inet = question.domain == AF_INET || question.domain == AF_INET6;
  const int made =
      inet ? ::socket(question.domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
  Answer answer;
  if (made < 0) {
    answer.error = inet ? errno : EAFNOSUPPORT;
    return ::send(source, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
  }
  const ssize_t sent = send_passing(source, &answer, sizeof answer, {&made, 1});
  const int error = sent < 0 ? -errno : 0;
  ::close(made);
  return error;
}

int take_socket(int taker, int domain) {
  const Question question{domain};
  if (::send(taker, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return -errno;
  pollfd polled{taker, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&polled, 1, kLookTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ready < 0 ? -errno : -ETIMEDOUT;
  Answer answer;
  Passed passed;
  const ssize_t got = receive_passing(taker, &answer, sizeof answer, passed);
  if (got != static_cast<ssize_t>(sizeof answer)) return -EPIPE;
  if (answer.error != 0) return -answer.error;
  return passed.count == 1 ? passed.descriptors[0] : -EPIPE;
}

namespace {

constexpr std::size_t kSpace = CMSG_SPACE(kMostPassed * sizeof(int));

}  // namespace

ssize_t send_passing(int socket, const void* data, std::size_t size, std::span<const int> passed) {
  if (passed.size() > kMostPassed) {
    errno = EINVAL;
    return -1;
  }
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[kSpace] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(passed.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(passed.size_bytes());
  std::memcpy(CMSG_DATA(rights), passed.data(), passed.size_bytes());
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_passing(int socket, void* data, std::size_t size, Passed& passed) {
  iovec part{data, size};
  alignas(cmsghdr) char control[kSpace] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  passed.count = 0;
  const cmsghdr* rights = got < 0 ? nullptr : CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    passed.count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(passed.descriptors.data(), CMSG_DATA(rights), passed.count * sizeof(int));
  }
  return got;
}

bool is_connected_to_itself(int socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size) == 0 &&
         own_size == other_size && std::memcmp(&own, &other, own_size) == 0;
}

void close_with_reset(Fd socket) {
  const linger none{1, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  socket.reset();
}

LoopbackListener::LoopbackListener()
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  constexpr int kBacklog = 8;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (socket_.valid() && ::bind(socket_.get(), generic, size) == 0 &&
      ::listen(socket_.get(), kBacklog) == 0 && ::getsockname(socket_.get(), generic, &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
}

bool LoopbackListener::was_reached() const {
  return Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
}

}  // namespace cordon::sys
