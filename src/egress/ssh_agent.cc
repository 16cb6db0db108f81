#include "egress/ssh_agent.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "egress/waiting_call.h"

namespace cordon {
namespace {

// Of the protocol (draft-ietf-sshm-ssh-agent).
constexpr std::uint8_t kAgentFailure = 5;
constexpr std::uint8_t kRequestIdentities = 11;
constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr std::uint8_t kSignRequest = 13;
constexpr std::uint8_t kSignResponse = 14;
// ssh tells each agent where it logs in. To an agent that does not know the request nothing
// changes.
constexpr std::uint8_t kExtension = 27;
constexpr std::size_t kLargestMessage = std::size_t{256} * 1024;
constexpr std::size_t kMostCarriers = 16;

using Message = std::vector<std::uint8_t>;

bool wait_for(int fd, short events, int stop) {
  for (;;) {
    pollfd polled[] = {{stop, POLLIN, 0}, {fd, events, 0}};
    if (::poll(polled, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (polled[0].revents != 0) return false;
    if (polled[1].revents != 0) return true;
  }
}

bool receive_all(int fd, std::span<std::uint8_t> bytes, int stop) {
  while (!bytes.empty()) {
    if (!wait_for(fd, POLLIN, stop)) return false;
    // Descriptors that come along are closed by the kernel: there is no room for them.
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool send_all(int fd, std::span<const std::uint8_t> bytes, int stop) {
  while (!bytes.empty()) {
    if (!wait_for(fd, POLLOUT, stop)) return false;
    const ssize_t put = ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

// Length first, as both sides write it; the message without it.
std::optional<Message> receive_message(int fd, int stop) {
  std::array<std::uint8_t, 4> length{};
  if (!receive_all(fd, length, stop)) return std::nullopt;
  std::size_t size = 0;
  for (const std::uint8_t byte : length) size = (size << 8U) | byte;
  if (size == 0 || size > kLargestMessage) return std::nullopt;
  Message message(size);
  if (!receive_all(fd, message, stop)) return std::nullopt;
  return message;
}

bool send_message(int fd, const Message& message, int stop) {
  Message bytes;
  bytes.reserve(message.size() + 4);
  for (unsigned shift = 32; shift > 0; shift -= 8)
    bytes.push_back(static_cast<std::uint8_t>((message.size() >> (shift - 8)) & 0xFFU));
  bytes.insert(bytes.end(), message.begin(), message.end());
  return send_all(fd, bytes, stop);
}

// What answers the request; nothing if it does not pass.
std::optional<std::uint8_t> answer_to(const Message& request) {
  if (request.front() == kRequestIdentities && request.size() == 1) return kIdentitiesAnswer;
  if (request.front() == kSignRequest) return kSignResponse;
  return std::nullopt;
}

// Whoever listens at the name now. The name was looked at when the run began, and whoever may
// rename there can have put another user's socket behind it since.
bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

Fd connect_to_agent(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.valid() &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    return {};
  }
  if (socket.valid() && !is_of_this_user(socket.get())) {
    errno = EACCES;
    return {};
  }
  return socket;
}

}  // namespace

SshAgentFilter::~SshAgentFilter() {
  for (Carrier& carrier : carriers_) carrier.thread.join();
}

int SshAgentFilter::open(Fd& end) {
  const std::lock_guard lock(mutex_);
  for (auto at = carriers_.begin(); at != carriers_.end();) {
    if (!at->ended) {
      ++at;
      continue;
    }
    at->thread.join();
    at = carriers_.erase(at);
  }
  if (carriers_.size() >= kMostCarriers) return EMFILE;
  Fd agent = connect_to_agent(agent_);
  if (!agent.valid()) return ECONNREFUSED;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return errno;
  end = Fd(ends[0]);
  Carrier& carrier = carriers_.emplace_back();
  carrier.inside = Fd(ends[1]);
  carrier.agent = std::move(agent);
  const WithoutSignals without;
  try {
    carrier.thread = std::thread([this, &carrier] { carry(carrier); });
  } catch (const std::system_error&) {
    carriers_.pop_back();
    return EAGAIN;
  }
  return 0;
}

void SshAgentFilter::carry(Carrier& carrier) {
  while (answer_one(carrier)) {
  }
  // The program sees the end at once; the descriptors go when the thread is joined.
  ::shutdown(carrier.inside.get(), SHUT_RDWR);
  ::shutdown(carrier.agent.get(), SHUT_RDWR);
  carrier.ended = true;
}

bool SshAgentFilter::answer_one(const Carrier& carrier) {
  const auto request = receive_message(carrier.inside.get(), stop_);
  if (!request) return false;
  const auto expected = answer_to(*request);
  if (!expected) {
    if (request->front() != kExtension) {
      attempts_.add_refusal("ssh-agent", "request " + std::to_string(request->front()) +
                                             ": only a list of keys and signatures are given");
    }
    return send_message(carrier.inside.get(), {kAgentFailure}, stop_);
  }
  if (!send_message(carrier.agent.get(), *request, stop_)) return false;
  const auto answer = receive_message(carrier.agent.get(), stop_);
  if (!answer || (answer->front() != *expected && answer->front() != kAgentFailure)) return false;
  return send_message(carrier.inside.get(), *answer, stop_);
}

}  // namespace cordon
