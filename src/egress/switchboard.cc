#include "egress/switchboard.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "egress/dial.h"
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
    error = wait_until_decided(fd, kConnectInside, stop);
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

std::string error_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
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
      return EPERM;
  }
}

int Switchboard::connect(WaitingCall& call, std::uint64_t network) {
  GivenAddress address;
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (const int error = call.read_address(address); error != 0) return error;
  if (address.size < sizeof(sa_family_t)) return EINVAL;
  // Local sockets would be looked up by name in the supervisor's own view of files, and a netlink
  // socket gets rights from who connects it.
  if (!is_inet(socket)) return EPERM;
  if (socket.network != network) return connect_again(socket, address);
  // Disconnecting inside stays inside.
  if (address.bytes.ss_family == AF_UNSPEC) return connect_inside(socket, address, stop_);
  if (address.size < smallest_address(socket.domain)) return EINVAL;
  if (address.bytes.ss_family != socket.domain) return EAFNOSUPPORT;
  const auto target = read_endpoint(address.bytes, address.size);
  if (!target) return EINVAL;
  const AddressKind kind = kind_of(target->address);
  const bool loopback = kind == AddressKind::Loopback || kind == AddressKind::Unspecified;
  const std::shared_ptr<const NetRules> net = rules_.now();
  const bool hosts = loopback && is_tcp(socket) &&
                     reaches_host_loopback(*net, target->address, target->port) != nullptr;
  if (loopback && !hosts) return connect_inside(socket, address, stop_);
  if (!is_tcp(socket)) {
    // It finds nothing in the sandbox's network. Libraries ask this way which of a name's addresses
    // they would use.
    if (!SyntheticNames::holds(target->address)) attempts_.add(not_tcp(*target));
    return connect_inside(socket, address, stop_);
  }
  return connect_outside(call, socket, *target, *net);
}

int Switchboard::connect_again(const GivenSocket& socket, const GivenAddress& address) {
  // Disconnected, a socket of the host's network could be connected or bound anew.
  if (address.bytes.ss_family == AF_UNSPEC) return EPERM;
  const std::lock_guard lock(mutex_);
  return unreported_.erase(identity_of(socket.fd.get())) == 1 ? 0 : EISCONN;
}

int Switchboard::connect_outside(WaitingCall& call, const GivenSocket& socket,
                                 const Endpoint& target, const NetRules& net) {
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
  Dialled dialled = dial(targets, socket.domain, socket.fd.get(),
                         socket.blocking ? kDialBlocking : kDialNonBlocking, stop_);
  attempt.address = to_string(dialled.target.address);
  int error = dialled.error;
  if (error == 0) {
    error = transplant(call, socket, dialled.socket);
    if (error != 0) attempt.reason = "the connected socket could not be handed over";
  }
  if (error != 0) attempt.error = error_name(error);
  attempts_.add(std::move(attempt));
  if (error != 0 || socket.blocking) return error;
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
                              : decide_literal(net, plain, target.port, own_);
  note(verdict, attempt);
  if (!verdict.allowed) return {{}, kRefused};
  return {{{plain, target.port}}, 0};
}

Switchboard::Judged Switchboard::judge_name(const NetRules& net, const std::string& name,
                                            const Endpoint& target, Connection& attempt) {
  const Verdict by_name = decide_connect(net, name, target.port, own_);
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
    const Verdict verdict = decide_resolved(net, by_name, address, target.port, own_);
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

int Switchboard::bind(WaitingCall& call, std::uint64_t network) const {
  GivenAddress address;
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (const int error = call.read_address(address); error != 0) return error;
  // A socket of the host's network would take a port of the host.
  if (socket.network != network) return EPERM;
  if (!is_inet(socket) && !is_plain_route_address(socket, address)) return EPERM;
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  const auto size = static_cast<socklen_t>(address.size);
  return ::bind(socket.fd.get(), bytes, size) < 0 ? errno : 0;
}

int Switchboard::listen(WaitingCall& call, std::uint64_t network) const {
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (socket.network != network || !is_inet(socket)) return EPERM;
  return ::listen(socket.fd.get(), call.argument_as_int(1)) < 0 ? errno : 0;
}

}  // namespace cordon
