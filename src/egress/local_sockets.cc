#include "egress/local_sockets.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "egress/dial.h"
#include "egress/endpoint.h"
#include "egress/own_addresses.h"
#include "egress/waiting_call.h"
#include "sys/calls.h"

namespace cordon {

bool OwnSocketFiles::add(Fd file) {
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return false;
  if (entries_.size() >= kMost) drop_removed();
  if (entries_.size() >= kMost) return false;
  entries_.push_back({{status.st_dev, status.st_ino}, std::move(file)});
  return true;
}

bool OwnSocketFiles::holds(const FileId& id) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.id == id; });
}

// Nothing can be connected to by a name that is gone.
void OwnSocketFiles::drop_removed() {
  std::erase_if(entries_, [](const Entry& entry) {
    struct stat status {};
    return ::fstat(entry.file.get(), &status) < 0 || status.st_nlink == 0;
  });
}

namespace {

// Each takes a descriptor of the supervisor, which may serve other sandboxes too.
constexpr std::size_t kMostPairs = 128;

std::uint64_t cookie_of(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return ::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

}  // namespace

int NameSockets::open(Kind kind, int domain, Fd& end) {
  const int type = kind == Kind::Datagrams ? SOCK_SEQPACKET : SOCK_STREAM;
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) return errno;
  end = Fd(ends[0]);
  // Any will do: nobody is reached at it.
  constexpr std::uint16_t kOwnPort = 49152;
  const SocketAddress own = write_endpoint(loopback_at(domain, kOwnPort), domain);
  Pair pair{Fd(ends[1]), kind, cookie_of(ends[0]), {{own.storage, own.size}, {}}, {}};
  const std::lock_guard lock(mutex_);
  if (pairs_.size() >= kMostPairs) return EMFILE;
  pairs_.push_back(std::move(pair));
  const std::uint64_t one = 1;
  return ::write(added_.get(), &one, sizeof one) == sizeof one ? 0 : EIO;
}

bool NameSockets::stands_for_datagrams(std::uint64_t cookie) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(pairs_, [&](const Pair& pair) {
    return pair.kind == Kind::Datagrams && pair.cookie == cookie && cookie != 0;
  });
}

void NameSockets::set_server(std::uint64_t cookie, const GivenAddress& address) {
  const std::lock_guard lock(mutex_);
  for (Pair& pair : pairs_) {
    if (pair.cookie == cookie) pair.addresses.server = address;
  }
}

NameSockets::Addresses NameSockets::addresses_of(std::uint64_t cookie) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(pairs_, cookie, &Pair::cookie);
  return found == pairs_.end() ? Addresses{} : found->addresses;
}

bool NameSockets::answer_datagram(int socket, short events) {
  std::uint8_t buffer[4096];
  const ssize_t got = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  // A message may be empty; at the end there is a hang-up too.
  if (got == 0) return (events & POLLHUP) == 0;
  const DnsBytes reply = resolver_.answer({buffer, static_cast<std::size_t>(got)});
  if (reply.empty()) {
    attempts_.add_refusal("send", "a datagram that asks for no name: only TCP leads outside");
    return true;
  }
  (void)::send(socket, reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

bool NameSockets::answer(Pair& pair, short events) {
  if (pair.kind == Kind::Stream) return resolver_.converse(pair.end.get(), pair.pending);
  return answer_datagram(pair.end.get(), events);
}

void NameSockets::serve(int stop) {
  std::vector<pollfd> polled;
  std::vector<std::list<Pair>::iterator> asked;
  for (;;) {
    polled.assign({{stop, POLLIN, 0}, {added_.get(), POLLIN, 0}});
    asked.clear();
    {
      const std::lock_guard lock(mutex_);
      for (auto pair = pairs_.begin(); pair != pairs_.end(); ++pair) {
        polled.push_back({pair->end.get(), POLLIN, 0});
        asked.push_back(pair);
      }
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    std::uint64_t count = 0;
    if (polled[1].revents != 0 && ::read(added_.get(), &count, sizeof count) < 0) return;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const short events = polled[i + 2].revents;
      if (events == 0 || answer(*asked[i], events)) continue;
      const std::lock_guard lock(mutex_);
      pairs_.erase(asked[i]);
    }
  }
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRefusedLocal = EACCES;
// How soon a full queue is tried again: the kernel tells nobody when there is room.
constexpr int kRetryMilliseconds = 5;

int call_connect(int socket, const void* address, std::size_t size) {
  const auto* bytes = static_cast<const sockaddr*>(address);
  return ::connect(socket, bytes, static_cast<socklen_t>(size)) < 0 ? errno : 0;
}

// The opened file that a name leads to for the caller. Its root is the root, links in /proc that
// lead to other roots are not followed.
int open_named(const WaitingCall& call, const std::string& path, Fd& file) {
  Fd root;
  if (const int error = open_root_of(call, root); error != 0) return error;
  const int opened = sys::openat2(root.get(), path.c_str(), O_PATH | O_CLOEXEC, 0,
                                  sys::kResolveInRoot | sys::kResolveNoMagicLinks);
  if (opened < 0) return -opened == ELOOP ? kRefusedLocal : -opened;
  file = Fd(opened);
  return 0;
}

int absolute_name(const WaitingCall& call, const std::string& name, std::string& path) {
  if (name.starts_with('/')) {
    path = normalize(name);
    return 0;
  }
  std::string directory;
  if (const int error = read_directory_of(call, directory); error != 0) return error;
  path = normalize(join(directory, name));
  return 0;
}

bool is_denial(int error) { return error == EACCES || error == EPERM || error == EROFS; }

}  // namespace

Result<std::vector<ListedSocket>> open_listed(std::span<const Grant> sockets) {
  std::vector<ListedSocket> listed;
  for (const Grant& socket : sockets) {
    Fd file(sys::openat2(AT_FDCWD, socket.path.c_str(), O_PATH | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks));
    sys::FileStatus status{};
    const bool same = file.valid() && sys::status_of(file.get(), status) == 0 &&
                      FileId{status.device, status.inode} == socket.id && S_ISSOCK(status.mode);
    if (!same) {
      return fail(setup_error(
          "a socket of net.sockets changed while it was being judged: " + quote(socket.path),
          ESTALE, "run again"));
    }
    listed.push_back({socket.path, socket.lexical, socket.id, std::move(file)});
  }
  return listed;
}

void LocalSockets::serve(std::uint64_t private_device, BindInSandbox bind_in_sandbox) {
  private_device_ = private_device;
  bind_in_sandbox_ = std::move(bind_in_sandbox);
}

int LocalSockets::connect(const WaitingCall& call, const GivenSocket& socket,
                          const GivenAddress& address) {
  const auto target = read_local_address(address);
  if (!target) return EINVAL;
  switch (target->kind) {
    case LocalAddress::Kind::Unnamed:
      return EINVAL;
    case LocalAddress::Kind::Abstract:
      if (!has_own_names(socket)) return refuse_abstract("connect", target->name);
      return connect_now(call, socket, &address.bytes, address.size);
    case LocalAddress::Kind::Path:
      return connect_path(call, socket, target->name);
  }
  return EINVAL;
}

int LocalSockets::bind(const WaitingCall& call, const GivenSocket& socket,
                       const GivenAddress& address) {
  const auto target = read_local_address(address);
  if (!target) return EINVAL;
  if (target->kind == LocalAddress::Kind::Path) {
    return bind_path(call, socket, address, target->name);
  }
  if (!has_own_names(socket)) return refuse_abstract("bind", target->name);
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  return ::bind(socket.fd.get(), bytes, static_cast<socklen_t>(address.size)) < 0 ? errno : 0;
}

// Without a network of the sandbox's own an abstract name may be anybody's on the host.
int LocalSockets::refuse_abstract(const char* what, const std::string& name) {
  attempts_.add_refusal(what, quote("@" + name) + ": an abstract name of the host's network");
  return kRefusedLocal;
}

int LocalSockets::connect_path(const WaitingCall& call, const GivenSocket& socket,
                               const std::string& name) {
  std::string path;
  if (const int error = absolute_name(call, name, path); error != 0) return error;
  // A listed one need not be shown inside.
  const auto called = [&](const ListedSocket& listed) {
    return path == listed.path || path == listed.lexical;
  };
  const auto by_name = std::ranges::find_if(listed_, called);
  if (by_name != listed_.end()) return connect_listed(call, socket, *by_name);

  Fd file;
  if (const int error = open_named(call, path, file); error != 0) {
    if (is_denial(error)) attempts_.add_refusal("connect", quote(path) + ": " + error_name(error));
    return error;
  }
  sys::FileStatus status{};
  if (sys::status_of(file.get(), status) < 0) return kRefusedLocal;
  if (!S_ISSOCK(status.mode)) return ECONNREFUSED;
  const FileId id{status.device, status.inode};
  const auto by_file = std::ranges::find(listed_, id, &ListedSocket::id);
  if (by_file != listed_.end()) return connect_listed(call, socket, *by_file);
  if (is_own(id)) return connect_through(call, socket, file.get());
  attempts_.add_refusal("connect",
                        quote(path) + ": not made by this run and not listed in net.sockets");
  return kRefusedLocal;
}

bool LocalSockets::is_own(const FileId& id) {
  if (private_device_ != 0 && id.device == private_device_) return true;
  const std::lock_guard lock(mutex_);
  return made_.holds(id);
}

int LocalSockets::connect_listed(const WaitingCall& call, const GivenSocket& socket,
                                 const ListedSocket& listed) {
  Connection attempt;
  attempt.address = listed.path;
  attempt.allowed = true;
  attempt.rule = "net.sockets " + quote(listed.path);
  const int error = connect_through(call, socket, listed.file.get());
  if (error != 0) attempt.error = error_name(error);
  attempts_.add(std::move(attempt));
  return error;
}

int LocalSockets::connect_through(const WaitingCall& call, const GivenSocket& socket,
                                  int file) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::memcpy(address.sun_path, path.data(), path.size());
  return connect_now(call, socket, &address, sizeof address);
}

// This thread does not wait in the kernel, which would hold it as long as the other side likes.
// The flag is the socket's, so for a moment the caller's other threads see it too.
int LocalSockets::connect_now(const WaitingCall& call, const GivenSocket& socket,
                              const void* address, std::size_t size) const {
  const int fd = socket.fd.get();
  if (!socket.blocking) return call_connect(fd, address, size);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return EPERM;
  const auto time = connect_timeout(fd);
  const auto begun = Clock::now();
  int error = call_connect(fd, address, size);
  while (error == EAGAIN && (!time || Clock::now() < begun + *time)) {
    pollfd stop{stop_, POLLIN, 0};
    if (::poll(&stop, 1, kRetryMilliseconds) != 0 || !call.waiting()) break;
    error = call_connect(fd, address, size);
  }
  (void)::fcntl(fd, F_SETFL, flags);
  return error;
}

int LocalSockets::bind_path(const WaitingCall& call, const GivenSocket& socket,
                            const GivenAddress& address, const std::string& name) {
  Fd directory;
  std::uint32_t mask = 0;
  if (const int error = open_directory_of(call, directory); error != 0) return error;
  if (const int error = read_mask_of(call, mask); error != 0) return error;
  const std::lock_guard lock(mutex_);
  const int error =
      bind_in_sandbox_({socket.fd.get(), directory.get(), mask,
                        std::as_bytes(std::span(&address.bytes, 1)).first(address.size)});
  if (is_denial(error)) attempts_.add_refusal("bind", quote(name) + ": " + error_name(error));
  // The file is asked of the socket: by now the name may lead to one of the host's. Only a network
  // of the sandbox's own gives the right to ask.
  if (error != 0 || !has_own_names(socket)) return error;
  Fd file(sys::open_bound_file(socket.fd.get()));
  sys::FileStatus status{};
  if (!file.valid() || sys::status_of(file.get(), status) < 0) return 0;
  if (private_device_ == 0 || status.device != private_device_) (void)made_.add(std::move(file));
  return 0;
}

}  // namespace cordon
