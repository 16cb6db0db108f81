// Attempts on sockets and on shared objects of System V and POSIX.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

constexpr int kMptcp = 262;

struct Named {
  std::string_view name;
  int value;
};
constexpr Named kNames[] = {
    {"unix", AF_UNIX},
    {"inet", AF_INET},
    {"inet6", AF_INET6},
    {"netlink", AF_NETLINK},
    {"packet", AF_PACKET},
    {"vsock", AF_VSOCK},
    {"alg", AF_ALG},
    {"bluetooth", AF_BLUETOOTH},
    {"key", AF_KEY},
    {"tipc", AF_TIPC},
    {"rds", AF_RDS},
    {"xdp", AF_XDP},
    {"can", AF_CAN},
    {"stream", SOCK_STREAM},
    {"dgram", SOCK_DGRAM},
    {"raw", SOCK_RAW},
    {"seqpacket", SOCK_SEQPACKET},
};

int named(const std::string& text) {
  for (const Named& known : kNames) {
    if (known.name == text) return known.value;
  }
  return static_cast<int>(number(text));
}

struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_INET;
  [[nodiscard]] const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

Endpoint endpoint(const std::string& text) {
  Endpoint result;
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const auto port = static_cast<std::uint16_t>(number(text.substr(colon + 1)));
  if (host.starts_with("[")) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    host = host.substr(1, host.size() - 2);
    inet_pton(AF_INET6, host.c_str(), &six.sin6_addr);
    result.family = AF_INET6;
    result.size = sizeof six;
    std::memcpy(&result.storage, &six, sizeof six);
  } else {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &four.sin_addr);
    result.size = sizeof four;
    std::memcpy(&result.storage, &four, sizeof four);
  }
  return result;
}

Endpoint unix_endpoint(const std::string& name, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t shift = abstract ? 1 : 0;
  name.copy(address.sun_path + shift, sizeof address.sun_path - 1 - shift);
  Endpoint result;
  result.family = AF_UNIX;
  result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  std::memcpy(&result.storage, &address, sizeof address);
  return result;
}

// Connects within three seconds, so that a black hole is told apart from a wait.
Verdict connect_to(int family, int type, int protocol, const Endpoint& to) {
  const int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (fd < 0) return refused("socket");
  if (connect(fd, to.address(), to.size) == 0) return done();
  if (errno != EINPROGRESS) return refused("connect");
  pollfd wait = {fd, POLLOUT, 0};
  if (poll(&wait, 1, 3000) != 1) return {false, ETIMEDOUT, "connect"};
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? done() : Verdict{false, error, "connect"};
}

Verdict connect_tcp(const Arguments& a) {
  const Endpoint to = endpoint(a[0]);
  return connect_to(to.family, SOCK_STREAM, 0, to);
}
Verdict connect_mptcp(const Arguments& a) {
  const Endpoint to = endpoint(a[0]);
  return connect_to(to.family, SOCK_STREAM, kMptcp, to);
}
Verdict connect_unix(const Arguments& a) {
  return connect_to(AF_UNIX, SOCK_STREAM, 0, unix_endpoint(a[0], false));
}
Verdict connect_abstract(const Arguments& a) {
  return connect_to(AF_UNIX, SOCK_STREAM, 0, unix_endpoint(a[0], true));
}

Verdict fast_open(const Arguments& a) {
  const Endpoint to = endpoint(a[0]);
  const int fd = socket(to.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused("socket");
  return by_result(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, to.address(), to.size));
}

Verdict send_datagram(const Arguments& a) {
  const Endpoint to = endpoint(a[0]);
  const int fd = socket(to.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused("socket");
  return by_result(sendto(fd, "probe", 5, MSG_DONTWAIT, to.address(), to.size));
}

Verdict listen_unbound(const Arguments&) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused("socket");
  return by_result(listen(fd, 1));
}

// Serves itself over the loopback it stands in.
Verdict own_loopback(const Arguments&) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server < 0) return refused("socket");
  Endpoint self = endpoint("127.0.0.1:0");
  if (bind(server, self.address(), self.size) < 0) return refused("bind");
  if (listen(server, 1) < 0) return refused("listen");
  auto* raw = reinterpret_cast<sockaddr*>(&self.storage);
  if (getsockname(server, raw, &self.size) < 0) return refused("getsockname");
  return connect_to(AF_INET, SOCK_STREAM, 0, self);
}

Verdict open_socket(const Arguments& a) {
  const int protocol = a.size() > 2 ? named(a[2]) : 0;
  return by_result(socket(named(a[0]), named(a[1]) | SOCK_CLOEXEC, protocol));
}

Verdict netlink(const Arguments& a) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, named(a[0]));
  if (fd < 0) return refused("socket");
  sockaddr_nl self{};
  self.nl_family = AF_NETLINK;
  return by_result(bind(fd, reinterpret_cast<const sockaddr*>(&self), sizeof self));
}

Verdict vsock(const Arguments&) {
  const int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused("socket");
  return done();
}

Verdict packet(const Arguments&) {
  return by_result(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(3)));
}

Verdict unix_datagram(const Arguments& a) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused("socket");
  const Endpoint to = unix_endpoint(a[0], false);
  return by_result(sendto(fd, "probe", 5, MSG_DONTWAIT, to.address(), to.size));
}

Verdict pair(int type) {
  int ends[2];
  return by_result(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends));
}
Verdict pair_datagram(const Arguments&) { return pair(SOCK_DGRAM); }
Verdict pair_stream(const Arguments&) { return pair(SOCK_STREAM); }
Verdict pair_seqpacket(const Arguments&) { return pair(SOCK_SEQPACKET); }

// One end of a datagram pair forgets its peer and is aimed at a socket file.
Verdict pair_redirected(const Arguments& a) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0) return refused("socketpair");
  const Endpoint to = unix_endpoint(a[0], false);
  if (connect(ends[0], to.address(), to.size) < 0) return refused("connect");
  return by_result(send(ends[0], "probe", 5, MSG_DONTWAIT));
}

// Passes a descriptor of /dev/null to itself over a stream pair.
Verdict pass_descriptor(const Arguments&) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return refused("socketpair");
  const int passed = open("/dev/null", O_RDONLY | O_CLOEXEC);
  char byte = 'x';
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  return by_result(sendmsg(ends[0], &message, 0));
}

Verdict shared_memory(const Arguments& a) {
  const int id = shmget(static_cast<key_t>(number(a[0])), 0, 0);
  if (id < 0) return refused("shmget");
  void* at = shmat(id, nullptr, SHM_RDONLY);
  if (reinterpret_cast<long>(at) == -1) return refused("shmat");
  return done(static_cast<const char*>(at));
}

Verdict make_shared_memory(const Arguments& a) {
  const int id = shmget(static_cast<key_t>(number(a[0])), 4096, IPC_CREAT | IPC_EXCL | 0600);
  if (id < 0) return refused("shmget");
  void* at = shmat(id, nullptr, 0);
  if (reinterpret_cast<long>(at) == -1) return refused("shmat");
  std::strcpy(static_cast<char*>(at), "SHARED-SECRET");
  return done(std::to_string(id));
}

Verdict remove_shared_memory(const Arguments& a) {
  return by_result(shmctl(static_cast<int>(number(a[0])), IPC_RMID, nullptr));
}

Verdict open_queue(const Arguments& a) {
  return by_result(mq_open(a[0].c_str(), O_RDONLY | O_CLOEXEC));
}
Verdict make_queue(const Arguments& a) {
  return by_result(mq_open(a[0].c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, nullptr));
}
Verdict remove_queue(const Arguments& a) { return by_result(mq_unlink(a[0].c_str())); }

constexpr Attempt kAttempts[] = {
    {"connect", "HOST:PORT", 1, connect_tcp},
    {"mptcp-connect", "HOST:PORT", 1, connect_mptcp},
    {"fastopen", "HOST:PORT", 1, fast_open},
    {"udp-send", "HOST:PORT", 1, send_datagram},
    {"listen", "", 0, listen_unbound},
    {"loopback", "", 0, own_loopback},
    {"socket", "FAMILY TYPE [PROTOCOL]", 2, open_socket},
    {"netlink", "PROTOCOL", 1, netlink},
    {"vsock", "", 0, vsock},
    {"packet", "", 0, packet},
    {"unix-connect", "PATH", 1, connect_unix},
    {"abstract-connect", "NAME", 1, connect_abstract},
    {"unix-dgram-sendto", "PATH", 1, unix_datagram},
    {"socketpair-dgram", "", 0, pair_datagram},
    {"socketpair-stream", "", 0, pair_stream},
    {"socketpair-seqpacket", "", 0, pair_seqpacket},
    {"socketpair-redirect", "PATH", 1, pair_redirected},
    {"pass-descriptor", "", 0, pass_descriptor},
    {"sysv-shm", "KEY", 1, shared_memory},
    {"sysv-shm-make", "KEY", 1, make_shared_memory},
    {"sysv-shm-remove", "ID", 1, remove_shared_memory},
    {"mq", "NAME", 1, open_queue},
    {"mq-make", "NAME", 1, make_queue},
    {"mq-remove", "NAME", 1, remove_queue},
};

}  // namespace

std::span<const Attempt> socket_attempts() { return kAttempts; }

}  // namespace probe
