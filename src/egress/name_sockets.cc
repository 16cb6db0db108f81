#include "egress/name_sockets.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "egress/endpoint.h"

namespace cordon {
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

}  // namespace cordon
