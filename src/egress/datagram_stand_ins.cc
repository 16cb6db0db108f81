#include "egress/datagram_stand_ins.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>

#include "egress/dial.h"
#include "egress/replace_descriptor.h"
#include "policy/names.h"

namespace cordon {
namespace {

// Where the argument and the next one, a pointer to a size, point to.
int write_address(WaitingCall& call, std::size_t index, const GivenAddress& address) {
  socklen_t room = 0;
  if (const int error = call.read_memory(index + 1, &room, sizeof room); error != 0) return error;
  const auto kept = std::min<std::size_t>(room, address.size);
  if (const int error = call.write_memory(call.argument(index), &address.bytes, kept); error != 0) {
    return error;
  }
  const auto size = static_cast<socklen_t>(address.size);
  return call.write_memory(call.argument(index + 1), &size, sizeof size);
}

}  // namespace

std::uint64_t socket_identity(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return ::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

Connection not_tcp(const Endpoint& target, NetMode mode) {
  Connection attempt;
  attempt.address = to_string(target.address);
  attempt.port = target.port;
  attempt.rule = "net.mode = \"" + std::string(name_of(mode)) + "\"";
  attempt.reason = kOnlyTcp;
  return attempt;
}

bool DatagramStandIns::holds(const GivenSocket& socket) const {
  return names_ != nullptr && socket.domain == AF_UNIX &&
         names_->stands_for_datagrams(socket_identity(socket.fd.get()));
}

// The filter lets every other socket be made, or refuses it.
int DatagramStandIns::make(WaitingCall& call) const {
  const int domain = call.argument_as_int(0);
  const int type = call.argument_as_int(1);
  const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (names_ == nullptr || (domain != AF_INET && domain != AF_INET6)) return EPERM;
  if ((type & ~flags) != SOCK_DGRAM) return EPERM;
  Fd end;
  if (const int error = names_->open(NameSockets::Kind::Datagrams, domain, end); error != 0) {
    return error;
  }
  if ((type & SOCK_NONBLOCK) != 0 && ::fcntl(end.get(), F_SETFL, O_NONBLOCK) < 0) return errno;
  return call.give(end.get(),
                   (type & SOCK_CLOEXEC) != 0 ? sys::CloseOnExec::Yes : sys::CloseOnExec::No);
}

int DatagramStandIns::connect(const GivenSocket& socket, const GivenAddress& address) {
  if (address.bytes.ss_family == AF_UNSPEC) return 0;
  const auto target = read_endpoint(address.bytes, address.size);
  if (!target) return EINVAL;
  if (target->port == kNamePort) {
    names_->set_server(socket_identity(socket.fd.get()), address);
    return 0;
  }
  // Libraries ask this way which of a name's addresses they would use.
  if (!SyntheticNames::holds(target->address)) attempts_.add(not_tcp(*target, NetMode::Allow));
  return ENETUNREACH;
}

// sendto with an address. On a connected socket of another kind the kernel does not look at it or
// says what is said here.
int DatagramStandIns::send(WaitingCall& call) {
  constexpr std::size_t kMostSent = 65536;
  GivenSocket socket;
  GivenAddress address;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (!holds(socket)) return EISCONN;
  if (const int error = call.read_address(4, address); error != 0) return error;
  if (const int error = connect(socket, address); error != 0) return error;
  const std::uint64_t size = call.argument(2);
  if (size > kMostSent) return EMSGSIZE;
  std::vector<std::byte> message(size);
  if (const int error = call.read_memory(1, message.data(), message.size()); error != 0) {
    return error;
  }
  const ssize_t sent =
      ::send(socket.fd.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return errno;
  call.answer(sent);
  return 0;
}

int DatagramStandIns::receive(const WaitingCall& call, const GivenSocket& socket, int flags,
                              std::size_t room, Received& received) const {
  constexpr std::size_t kMostReceived = 65536;
  constexpr int kLookMilliseconds = 100;
  const int fd = socket.fd.get();
  received.bytes.resize(std::min(room, kMostReceived));
  const int how = (flags & (MSG_PEEK | MSG_TRUNC)) | MSG_DONTWAIT;
  const auto take = [&] { return ::recv(fd, received.bytes.data(), received.bytes.size(), how); };
  const bool waits = socket.blocking && (flags & MSG_DONTWAIT) == 0;
  const auto time = receive_timeout(fd);
  const auto begun = std::chrono::steady_clock::now();
  received.answer = take();
  while (received.answer < 0 && errno == EAGAIN && waits && call.waiting() &&
         (!time || std::chrono::steady_clock::now() < begun + *time)) {
    pollfd polled[] = {{fd, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (::poll(polled, 2, kLookMilliseconds) < 0 || polled[1].revents != 0) return EINTR;
    received.answer = take();
  }
  if (received.answer < 0) return errno;
  received.bytes.resize(std::min(received.bytes.size(), static_cast<std::size_t>(received.answer)));
  received.sender = names_->addresses_of(socket_identity(fd)).server;
  return 0;
}

// recvfrom with room for the sender's address.
int DatagramStandIns::receive_from(WaitingCall& call) const {
  GivenSocket socket;
  Received received;
  if (call.read_socket(socket) != 0 || !holds(socket)) {
    call.let_continue();
    return 0;
  }
  int error = receive(call, socket, call.argument_as_int(3), call.argument(2), received);
  if (error == 0) {
    error = call.write_memory(call.argument(1), received.bytes.data(), received.bytes.size());
  }
  if (error == 0) error = write_address(call, 4, received.sender);
  if (error == 0) call.answer(received.answer);
  return error;
}

int DatagramStandIns::receive_message(WaitingCall& call) const {
  constexpr std::size_t kMostParts = 64;
  GivenSocket socket;
  if (call.read_socket(socket) != 0 || !holds(socket)) {
    call.let_continue();
    return 0;
  }
  msghdr header{};
  if (const int error = call.read_memory(1, &header, sizeof header); error != 0) return error;
  if (header.msg_iovlen > kMostParts) return EMSGSIZE;
  std::vector<iovec> parts(header.msg_iovlen);
  const auto address = [](const void* there) { return reinterpret_cast<std::uint64_t>(there); };
  int error = parts.empty() ? 0
                            : call.read_at(address(header.msg_iov), parts.data(),
                                           parts.size() * sizeof(iovec));
  if (error != 0) return error;
  std::size_t room = 0;
  for (const iovec& part : parts) room += std::min<std::size_t>(part.iov_len, 65536);
  Received received;
  error = receive(call, socket, call.argument_as_int(2), room, received);
  std::span<const std::byte> rest = received.bytes;
  for (const iovec& part : parts) {
    const std::size_t size = std::min(part.iov_len, rest.size());
    if (error == 0) error = call.write_memory(address(part.iov_base), rest.data(), size);
    rest = rest.subspan(size);
  }
  if (error == 0 && header.msg_name != nullptr) {
    const auto size = std::min<std::size_t>(header.msg_namelen, received.sender.size);
    error = call.write_memory(address(header.msg_name), &received.sender.bytes, size);
    header.msg_namelen = static_cast<socklen_t>(received.sender.size);
  }
  header.msg_controllen = 0;
  header.msg_flags = 0;
  if (error == 0) error = call.write_memory(call.argument(1), &header, sizeof header);
  if (error == 0) call.answer(received.answer);
  return error;
}

// getsockname and getpeername: a stand-in's are what the program believes. Some resolvers give up
// when they are those of a local socket.
int DatagramStandIns::tell_address(WaitingCall& call) const {
  GivenSocket socket;
  if (call.read_socket(socket) != 0 || !holds(socket)) {
    call.let_continue();
    return 0;
  }
  const NameSockets::Addresses known = names_->addresses_of(socket_identity(socket.fd.get()));
  if (call.number() == SYS_getsockname) return write_address(call, 1, known.own);
  return known.server.size == 0 ? ENOTCONN : write_address(call, 1, known.server);
}

int DatagramStandIns::ask_for_names(WaitingCall& call, const GivenSocket& socket) const {
  Fd end;
  if (const int error = names_->open(NameSockets::Kind::Stream, socket.domain, end); error != 0) {
    return error;
  }
  std::string reason;
  return replace_descriptor(call, socket, end, Neighbours::Host, reason);
}

}  // namespace cordon
