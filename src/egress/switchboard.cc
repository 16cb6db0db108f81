#include "egress/switchboard.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "egress/dial.h"
#include "egress/socket_options.h"
#include "egress/transplant.h"

namespace cordon {
namespace {

using std::chrono::milliseconds;

// A program with a non-blocking socket waits for other things too, and does so meanwhile.
constexpr milliseconds kDialBlocking{30'000};
constexpr milliseconds kDialNonBlocking{10'000};
constexpr milliseconds kConnectInside{120'000};
constexpr std::size_t kMostUnreported = 4096;
constexpr int kRefused = EACCES;
constexpr int kNoAddress = EHOSTUNREACH;   // of an allowed name, or nobody could tell
constexpr int kOtherFamily = ENETUNREACH;  // the name has addresses, which the program tries next

bool is_inet(const GivenSocket& socket) {
  return socket.domain == AF_INET || socket.domain == AF_INET6;
}

bool is_tcp(const GivenSocket& socket) {
  return is_inet(socket) && socket.type == SOCK_STREAM && socket.protocol == IPPROTO_TCP;
}

// Which socket it is, whatever descriptor leads to it; zero if the kernel does not tell.
std::uint64_t identity_of(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return ::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

int call_connect(int fd, const GivenAddress& address) {
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  return ::connect(fd, bytes, static_cast<socklen_t>(address.size)) < 0 ? errno : 0;
}

// How long a program waits for its socket, and what it is told when that is over. A send timeout
// bounds the connect of a blocking socket too, and the kernel then says that it goes on.
struct Patience {
  milliseconds time;
  int over = ETIMEDOUT;
};

Patience patience_for(const GivenSocket& socket, milliseconds most) {
  const auto wanted = socket.blocking ? connect_timeout(socket.fd.get()) : std::nullopt;
  if (!wanted || *wanted >= most) return {most, ETIMEDOUT};
  return {*wanted, EINPROGRESS};
}

// The call itself, on the caller's own socket, which acts in the sandbox's network. This thread
// does not wait in the kernel: a full queue inside would hold it for minutes. The flag is the
// socket's, not the descriptor's, so for a moment the caller's other threads see it too.
int connect_inside(const GivenSocket& socket, const GivenAddress& address, int stop) {
  const int fd = socket.fd.get();
  if (!socket.blocking || socket.type != SOCK_STREAM) return call_connect(fd, address);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return EPERM;
  int error = call_connect(fd, address);
  if (error == EINPROGRESS) {
    const Patience patience = patience_for(socket, kConnectInside);
    error = wait_until_decided(fd, patience.time, stop);
    if (error == ETIMEDOUT) error = patience.over;
    // Asked once more, the kernel says what became of it and settles the socket's state.
    if (error == 0) error = call_connect(fd, address);
  }
  (void)::fcntl(fd, F_SETFL, flags);
  return error;
}

// What libraries bind a route socket to before they ask for interfaces: a number, and no group,
// which would be joined with the supervisor's rights.
bool is_plain_route_address(const GivenSocket& socket, const GivenAddress& address) {
  struct {
    std::uint16_t family, padding;
    std::uint32_t number, groups;
  } route{};
  if (socket.domain != AF_NETLINK || address.size < sizeof route) return false;
  std::memcpy(&route, &address.bytes, sizeof route);
  return route.groups == 0;
}

Connection not_tcp(const Endpoint& target) {
  Connection attempt;
  attempt.address = to_string(target.address);
  attempt.port = target.port;
  attempt.rule = "net.mode = \"allow\"";
  attempt.reason = "only TCP leads outside";
  return attempt;
}

void note(const Verdict& verdict, Connection& attempt) {
  attempt.allowed = verdict.allowed;
  attempt.rule = verdict.rule;
  attempt.reason = verdict.allowed ? std::string{} : verdict.reason;
}

}  // namespace

int Switchboard::answer(WaitingCall& call, std::uint64_t network) {
  switch (call.number()) {
    case SYS_connect:
      return connect(call, network);
    case SYS_bind:
      return bind(call, network);
    case SYS_listen:
      return listen(call, network);
    default:
      return FileChanges::handles(call.number()) ? files_.answer(call) : EPERM;
  }
}

bool Switchboard::is_own(const GivenSocket& socket, std::uint64_t network) const {
  switch (place_.mode) {
    case NetMode::None:
      return socket.network != place_.host_network;
    case NetMode::Allow:
      return socket.network == network;
    case NetMode::Open:
      return socket.network == place_.host_network;
  }
  return false;
}

int Switchboard::connect(WaitingCall& call, std::uint64_t network) {
  GivenAddress address;
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (const int error = call.read_address(address); error != 0) return error;
  if (address.size < sizeof(sa_family_t)) return EINVAL;
  if (socket.domain == AF_UNIX) return local_.connect(call, socket, address);
  // A netlink socket gets rights from who connects it.
  if (!is_inet(socket)) return EPERM;
  if (place_.mode != NetMode::Allow) {
    return is_own(socket, network) ? connect_inside(socket, address, stop_) : EPERM;
  }
  if (socket.network != network) return connect_again(socket, address);
  // Disconnecting inside stays inside.
  if (address.bytes.ss_family == AF_UNSPEC) return connect_inside(socket, address, stop_);
  if (address.size < smallest_address(socket.domain)) return EINVAL;
  if (address.bytes.ss_family != socket.domain) return EAFNOSUPPORT;
  const auto target = read_endpoint(address.bytes, address.size);
  if (!target) return EINVAL;
  const AddressKind kind = kind_of(target->address);
  const bool loopback = kind == AddressKind::Loopback || kind == AddressKind::Unspecified;
  const auto net = rules_.now();
  const bool hosts = loopback && is_tcp(socket) &&
                     reaches_host_loopback(*net, target->address, target->port) != nullptr;
  if (loopback && !hosts) return connect_inside(socket, address, stop_);
  if (!is_tcp(socket)) {
    // It finds nothing in the sandbox's network. Libraries ask this way which of a name's addresses
    // they would use.
    if (!SyntheticNames::holds(target->address)) attempts_.add(not_tcp(*target));
    return connect_inside(socket, address, stop_);
  }
  return connect_outside(call, socket, *net, *target);
}

int Switchboard::connect_again(const GivenSocket& socket, const GivenAddress& address) {
  // Disconnected, a socket of the host's network could be connected or bound anew.
  if (address.bytes.ss_family == AF_UNSPEC) return EPERM;
  const std::lock_guard lock(mutex_);
  return unreported_.erase(identity_of(socket.fd.get())) == 1 ? 0 : EISCONN;
}

int Switchboard::connect_outside(WaitingCall& call, const GivenSocket& socket, const NetRules& net,
                                 const Endpoint& target) {
  // One that is connected inside already is not replaced.
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(socket.fd.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
    return EISCONN;
  }
  Connection attempt;
  attempt.port = target.port;
  const auto [targets, refusal] = judge(net, target, attempt);
  if (targets.empty()) {
    if (refusal != kOtherFamily) attempts_.add(std::move(attempt));
    return refusal;
  }
  if (!budget_.take()) {
    note({false,
          "limits.connections = " + std::to_string(budget_.most().value_or(0)),
          "the connections of this run are used up",
          {}},
         attempt);
    attempts_.add(std::move(attempt));
    return kRefused;
  }
  return dial_and_hand_over(call, socket, targets, std::move(attempt));
}

int Switchboard::dial_and_hand_over(WaitingCall& call, const GivenSocket& socket,
                                    std::span<const Endpoint> targets, Connection attempt) {
  const Patience patience =
      patience_for(socket, socket.blocking ? kDialBlocking : kDialNonBlocking);
  Dialled dialled = dial(targets, socket.domain, socket.fd.get(), patience.time, stop_);
  attempt.address = to_string(dialled.target.address);
  int error = dialled.error;
  if (error == ETIMEDOUT) error = patience.over;
  if (error == 0) {
    error = transplant(call, socket, dialled.socket, attempt.reason);
    attempt.allowed = error == 0;
  }
  if (error != 0) attempt.error = error_name(error);
  const auto entry = attempts_.add(std::move(attempt));
  if (error != 0) return error;
  meter_.add(dialled.socket.get(), entry);
  if (socket.blocking) return 0;
  const std::lock_guard lock(mutex_);
  if (unreported_.size() >= kMostUnreported) unreported_.clear();
  unreported_.insert(identity_of(dialled.socket.get()));
  return EINPROGRESS;
}

Switchboard::Judged Switchboard::judge(const NetRules& net, const Endpoint& target,
                                       Connection& attempt) {
  // A mapped address is an IPv4 one on an IPv6 socket.
  const Address plain = is_mapped(target.address) ? innermost(target.address) : target.address;
  const bool synthetic = SyntheticNames::holds(plain);
  if (const auto name = names_.name_of(plain); synthetic && name) {
    attempt.host = *name;
    return judge_name(net, *name, {plain, target.port}, attempt);
  }
  attempt.address = to_string(plain);
  const Verdict verdict = synthetic
                              ? Verdict{false, "net.mode = \"allow\"", "it stands for no name", {}}
                              : decide_literal(net, plain, target.port, place_.own);
  note(verdict, attempt);
  if (!verdict.allowed) return {{}, kRefused};
  return {{{plain, target.port}}, 0};
}

Switchboard::Judged Switchboard::judge_name(const NetRules& net, const std::string& name,
                                            const Endpoint& target, Connection& attempt) {
  const Verdict by_name = decide_connect(net, name, target.port, place_.own);
  note(by_name, attempt);
  if (!by_name.allowed) return {{}, kRefused};
  const std::vector<Address> addresses = lookup_.addresses_of(name);
  if (addresses.empty()) {
    attempt.error = error_name(kNoAddress);
    return {{}, kNoAddress};
  }
  Judged judged{{}, kOtherFamily};
  for (const Address& address : addresses) {
    if (address.family != target.address.family) continue;
    const Verdict verdict = decide_resolved(net, by_name, address, target.port, place_.own);
    if (verdict.allowed) {
      judged.targets.push_back({address, target.port});
    } else if (judged.error != kRefused) {
      judged.error = kRefused;
      attempt.address = to_string(address);
      note(verdict, attempt);
    }
  }
  if (!judged.targets.empty()) note(by_name, attempt);
  return judged;
}

int Switchboard::bind(WaitingCall& call, std::uint64_t network) {
  GivenAddress address;
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (const int error = call.read_address(address); error != 0) return error;
  if (socket.domain == AF_UNIX) return local_.bind(call, socket, address);
  // A socket of the host's network would take a port of the host.
  if (!is_own(socket, network)) return EPERM;
  const bool plain_route = is_plain_route_address(socket, address);
  if (place_.mode != NetMode::Allow && !plain_route) {
    // Low ports and netlink groups go by the rights of who binds.
    const auto given = std::as_bytes(std::span(&address.bytes, 1)).first(address.size);
    return bind_inside_({socket.fd.get(), -1, 0, given});
  }
  if (!is_inet(socket) && !plain_route) return EPERM;
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  const auto size = static_cast<socklen_t>(address.size);
  return ::bind(socket.fd.get(), bytes, size) < 0 ? errno : 0;
}

int Switchboard::listen(WaitingCall& call, std::uint64_t network) const {
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (socket.network != network) return EPERM;
  if (!is_inet(socket) && socket.domain != AF_UNIX) return EPERM;
  return ::listen(socket.fd.get(), call.argument_as_int(1)) < 0 ? errno : 0;
}

}  // namespace cordon
