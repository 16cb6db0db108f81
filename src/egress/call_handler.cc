#include "egress/call_handler.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>

#include "egress/dial.h"
#include "egress/own_addresses.h"
#include "egress/replace_descriptor.h"
#include "policy/environment.h"
#include "policy/http_rules.h"

namespace cordon {
namespace {

using std::chrono::milliseconds;

// A program with a non-blocking socket waits for other things too, and does so meanwhile.
constexpr milliseconds kDialBlocking{30'000};
constexpr milliseconds kDialNonBlocking{10'000};
constexpr milliseconds kConnectInside{120'000};
constexpr std::size_t kMostUnreported = 4096;

bool is_inet(const GivenSocket& socket) {
  return socket.domain == AF_INET || socket.domain == AF_INET6;
}

bool is_tcp(const GivenSocket& socket) {
  return is_inet(socket) && socket.type == SOCK_STREAM && socket.protocol == IPPROTO_TCP;
}

int connect_given(int fd, const GivenAddress& address) {
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  return ::connect(fd, bytes, static_cast<socklen_t>(address.size)) < 0 ? errno : 0;
}

// How long a program waits for its socket, and what it is told when that is over. A send timeout
// bounds the connect of a blocking socket too, and the kernel then says that it goes on.
struct ConnectTimeout {
  milliseconds time;
  int over = ETIMEDOUT;
};

ConnectTimeout connect_timeout_for(const GivenSocket& socket, milliseconds most) {
  const auto wanted = socket.blocking ? connect_timeout(socket.fd.get()) : std::nullopt;
  if (!wanted || *wanted >= most) return {most, ETIMEDOUT};
  return {*wanted, EINPROGRESS};
}

// The call itself, on the caller's own socket, which acts in the sandbox's network. This thread
// does not wait in the kernel: a full queue inside would hold it for minutes. The flag is the
// socket's, not the descriptor's, so for a moment the caller's other threads see it too.
int connect_inside(const GivenSocket& socket, const GivenAddress& address, int stop) {
  const int fd = socket.fd.get();
  if (!socket.blocking || socket.type != SOCK_STREAM) return connect_given(fd, address);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return EPERM;
  int error = connect_given(fd, address);
  if (error == EINPROGRESS) {
    const ConnectTimeout timeout = connect_timeout_for(socket, kConnectInside);
    error = wait_until_decided(fd, timeout.time, stop);
    if (error == ETIMEDOUT) error = timeout.over;
    // Asked once more, the kernel says what became of it and settles the socket's state.
    if (error == 0) error = connect_given(fd, address);
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

}  // namespace

int CallHandler::answer(WaitingCall& call, std::uint64_t network) {
  const bool watched = watch_.handles(call.number());
  if (watched) watch_.note(call);
  switch (call.number()) {
    case SYS_connect:
      return connect(call, network);
    case SYS_bind:
      return bind(call, network);
    case SYS_listen:
      return listen(call, network);
    case SYS_socket:
      return datagrams_.make(call);
    case SYS_sendto:
      if (shares_host()) return datagrams_.send(call);
      note_datagram(call);
      call.let_continue();
      return 0;
    case SYS_recvfrom:
      return datagrams_.receive_from(call);
    case SYS_recvmsg:
      return datagrams_.receive_message(call);
    case SYS_getsockname:
    case SYS_getpeername:
      return datagrams_.tell_address(call);
    default:
      if (StagedRenames::handles(call.number())) {
        renames_.pass(call);
        return 0;
      }
      // In a view of its own the kernel may change modes, times and owners: there such a call comes
      // only to be watched.
      if (FileChanges::handles(call.number()) && !(watched && place_.own_view)) {
        return files_.answer(call);
      }
      if (!watched) return EPERM;
      call.let_continue();
      return 0;
  }
}

// Only what is meant for somebody: libraries connect datagram sockets to learn their own address.
void CallHandler::note_unreachable(const GivenSocket& socket, const GivenAddress& address) {
  const auto target = read_endpoint(address.bytes, address.size);
  if (!is_tcp(socket) || !target) return;
  Connection attempt;
  attempt.address = to_string(target->address);
  attempt.port = target->port;
  attempt.rule = "net.mode = \"none\"";
  attempt.reason = "this sandbox has only its own loopback";
  attempts_.add(std::move(attempt));
}

void CallHandler::note_datagram(WaitingCall& call) {
  GivenSocket socket;
  GivenAddress address;
  if (call.read_socket(socket) != 0 || call.read_address(4, address) != 0) return;
  const auto target = read_endpoint(address.bytes, address.size);
  if (!is_inet(socket) || is_tcp(socket) || !target) return;
  const AddressKind kind = kind_of(target->address);
  if (kind == AddressKind::Loopback || kind == AddressKind::Unspecified) return;
  Connection attempt = not_tcp(*target, place_.mode);
  if (auto name = targets_.name_of(target->address)) {
    attempt.host = *std::move(name);
    attempt.address.clear();
  }
  attempts_.add(std::move(attempt));
}

bool CallHandler::is_own(const GivenSocket& socket, std::uint64_t network) const {
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

int CallHandler::connect(WaitingCall& call, std::uint64_t network) {
  GivenAddress address;
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (const int error = call.read_address(address); error != 0) return error;
  if (address.size < sizeof(sa_family_t)) return EINVAL;
  if (shares_host() && (is_inet(socket) || datagrams_.holds(socket))) {
    return connect_sharing(call, socket, address);
  }
  if (socket.domain == AF_UNIX && names_ssh_agent(address)) return connect_ssh_agent(call, socket);
  if (socket.domain == AF_UNIX) return local_.connect(call, socket, address);
  // A netlink socket gets rights from who connects it.
  if (!is_inet(socket)) return EPERM;
  if (place_.mode != NetMode::Allow) {
    if (!is_own(socket, network)) return EPERM;
    const int error = connect_inside(socket, address, stop_);
    if (place_.mode == NetMode::None && error == ENETUNREACH) note_unreachable(socket, address);
    return error;
  }
  if (socket.network != network) return connect_again(socket, address);
  // connect(2) with AF_UNSPEC disconnects the socket, which is the sandbox's own: nothing leaves
  // it.
  if (address.bytes.ss_family == AF_UNSPEC) return connect_inside(socket, address, stop_);
  if (address.size < smallest_address(socket.domain)) return EINVAL;
  if (address.bytes.ss_family != socket.domain) return EAFNOSUPPORT;
  const auto target = read_endpoint(address.bytes, address.size);
  if (!target) return EINVAL;
  const AddressKind kind = kind_of(target->address);
  const bool loopback = kind == AddressKind::Loopback || kind == AddressKind::Unspecified;
  if (const HostRule* endpoint = is_tcp(socket) ? gated_at(*target) : nullptr) {
    return hand_to_gate(call, socket, *endpoint, RequestGate::Way::Loopback);
  }
  const auto net = rules_.now();
  const bool hosts = loopback && is_tcp(socket) &&
                     reaches_host_loopback(*net, target->address, target->port) != nullptr;
  if (loopback && !hosts) return connect_inside(socket, address, stop_);
  if (!is_tcp(socket)) {
    // It finds nothing in the sandbox's network. Libraries ask this way which of a name's addresses
    // they would use.
    if (!SyntheticNames::holds(target->address)) attempts_.add(not_tcp(*target, place_.mode));
    return connect_inside(socket, address, stop_);
  }
  return connect_outside(call, socket, *net, *target);
}

// The caller's own socket is of the host's network. Nothing is ever done with it: what may be
// reached is dialled outside and takes its place, and everything else is refused.
int CallHandler::connect_sharing(WaitingCall& call, const GivenSocket& socket,
                                 const GivenAddress& address) {
  if (!is_inet(socket)) return datagrams_.connect(socket, address);
  if (!is_tcp(socket)) return EPERM;
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(socket.fd.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
    return connect_again(socket, address);
  }
  if (address.bytes.ss_family == AF_UNSPEC) return 0;  // it is not connected
  if (address.size < smallest_address(socket.domain)) return EINVAL;
  if (address.bytes.ss_family != socket.domain) return EAFNOSUPPORT;
  const auto target = read_endpoint(address.bytes, address.size);
  if (!target) return EINVAL;
  if (const HostRule* endpoint = gated_at(*target)) {
    return hand_to_gate(call, socket, *endpoint, RequestGate::Way::Loopback);
  }
  const auto net = rules_.now();
  if (target->port == kNamePort && !SyntheticNames::holds(target->address) &&
      !decide_literal(*net, target->address, target->port, place_.own).allowed) {
    return datagrams_.ask_for_names(call, socket);
  }
  return connect_outside(call, socket, *net, *target);
}

bool CallHandler::names_ssh_agent(const GivenAddress& address) const {
  if (place_.ssh_agent == nullptr) return false;
  const auto target = read_local_address(address);
  return target && target->kind == LocalAddress::Kind::Path && target->name == kSshAgentSocket;
}

int CallHandler::connect_ssh_agent(WaitingCall& call, const GivenSocket& socket) {
  if (socket.type != SOCK_STREAM) return EPROTOTYPE;
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(socket.fd.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0)
    return EISCONN;
  Connection attempt;
  attempt.address = kSshAgentSocket;
  attempt.rule = "net.ssh_agent";
  Fd end;
  int error = place_.ssh_agent->open(end);
  if (error == 0) {
    const auto neighbours = shares_host() ? Neighbours::Host : Neighbours::OwnNamespace;
    error = replace_descriptor(call, socket, end, neighbours, attempt.reason);
  }
  attempt.allowed = error == 0;
  if (error != 0) attempt.error = error_name(error);
  attempts_.add(std::move(attempt));
  return error;
}

int CallHandler::connect_again(const GivenSocket& socket, const GivenAddress& address) {
  // Disconnected, a socket of the host's network could be connected or bound anew.
  if (address.bytes.ss_family == AF_UNSPEC) return EPERM;
  const std::lock_guard lock(mutex_);
  return unreported_.erase(socket_identity(socket.fd.get())) == 1 ? 0 : EISCONN;
}

int CallHandler::connect_outside(WaitingCall& call, const GivenSocket& socket, const NetRules& net,
                                 const Endpoint& target) {
  // One that is connected inside already is not replaced.
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(socket.fd.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
    return EISCONN;
  }
  if (const auto name = targets_.name_of(target.address)) {
    if (const HttpRule* rule = find_http_rule(net, *name, target.port)) {
      return hand_to_gate(call, socket, rule->host, RequestGate::Way::Name);
    }
  }
  Connection attempt;
  attempt.port = target.port;
  const auto [targets, refusal] = targets_.judge(net, target, attempt);
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
    return kRefusedCall;
  }
  return dial_and_hand_over(call, socket, targets, std::move(attempt));
}

const HostRule* CallHandler::gated_at(const Endpoint& target) const {
  if (target.port < kFirstGatePort) return nullptr;
  const Address plain = is_mapped(target.address) ? innermost(target.address) : target.address;
  const std::size_t place = target.port - kFirstGatePort;
  const bool ours = kind_of(plain) == AddressKind::Loopback && place < place_.gated.size();
  return ours ? &place_.gated[place] : nullptr;
}

// What the program holds then is connected to this process, which passes the other end on.
int CallHandler::hand_to_gate(WaitingCall& call, const GivenSocket& socket,
                              const HostRule& endpoint, RequestGate::Way way) {
  Connection refused;
  refused.host = endpoint.name;
  refused.port = endpoint.first_port;
  refused.rule = "[[http]] " + to_string(endpoint);
  const auto refuse = [&](std::string reason) {
    refused.reason = std::move(reason);
    attempts_.add(std::move(refused));
    return kRefusedCall;
  };
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(socket.fd.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
    return EISCONN;
  }
  // A ceiling that was changed meanwhile holds for the next connection.
  if (find_http_rule(*rules_.now(), endpoint) == nullptr)
    return refuse("no rule allows it any more");
  if (place_.gate == nullptr) return refuse("the run has no gate for its requests");
  ConnectedPair pair = connect_over_loopback(socket.domain);
  if (pair.error != 0) return pair.error;
  copy_options(socket.fd.get(), pair.client.get());
  const auto neighbours = shares_host() ? Neighbours::Host : Neighbours::OwnNamespace;
  if (const int error = replace_descriptor(call, socket, pair.client, neighbours, refused.reason);
      error != 0) {
    if (!refused.reason.empty()) attempts_.add(std::move(refused));
    return error;
  }
  if (!place_.gate->take(endpoint, way, std::move(pair.server))) {
    return refuse("the gate takes no more connections");
  }
  if (socket.blocking) return 0;
  const std::lock_guard lock(mutex_);
  if (unreported_.size() >= kMostUnreported) unreported_.clear();
  unreported_.insert(socket_identity(pair.client.get()));
  return EINPROGRESS;
}

Dialled CallHandler::dial_for_gate(const HostRule& endpoint) {
  const auto net = rules_.now();
  const std::uint16_t port = endpoint.first_port;
  Connection attempt;
  attempt.host = endpoint.name;
  attempt.port = port;
  Dialled dialled;
  dialled.error = kRefusedCall;
  const auto give_up = [&] {
    attempts_.add(std::move(attempt));
    return std::move(dialled);
  };
  if (find_http_rule(*net, endpoint) == nullptr) {
    note({false, "[[http]] " + to_string(endpoint), "no rule allows it any more", {}}, attempt);
    return give_up();
  }
  const auto judged = targets_.judge_name(*net, endpoint.name, port, std::nullopt, attempt);
  if (judged.targets.empty()) {
    dialled.error = judged.error;
    return give_up();
  }
  if (!budget_.take()) {
    note({false,
          "limits.connections = " + std::to_string(budget_.most().value_or(0)),
          "the connections of this run are used up",
          {}},
         attempt);
    return give_up();
  }
  for (const int domain : {AF_INET, AF_INET6}) {
    std::vector<Endpoint> family;
    const auto kind = domain == AF_INET ? Address::Family::V4 : Address::Family::V6;
    std::ranges::copy_if(judged.targets, std::back_inserter(family),
                         [&](const Endpoint& one) { return one.address.family == kind; });
    if (family.empty() || dialled.socket.valid()) continue;
    dialled = dial(family, domain, -1, kDialBlocking, stop_);
    attempt.address = to_string(dialled.target.address);
  }
  if (dialled.error != 0) attempt.error = error_name(dialled.error);
  const auto entry = attempts_.add(std::move(attempt));
  if (dialled.error == 0) meter_.add(dialled.socket.get(), entry);
  return dialled;
}

int CallHandler::dial_and_hand_over(WaitingCall& call, const GivenSocket& socket,
                                    std::span<const Endpoint> targets, Connection attempt) {
  const ConnectTimeout timeout =
      connect_timeout_for(socket, socket.blocking ? kDialBlocking : kDialNonBlocking);
  Dialled dialled = dial(targets, socket.domain, socket.fd.get(), timeout.time, stop_);
  attempt.address = to_string(dialled.target.address);
  int error = dialled.error;
  if (error == ETIMEDOUT) error = timeout.over;
  if (error == 0) {
    const auto neighbours = shares_host() ? Neighbours::Host : Neighbours::OwnNamespace;
    error = replace_descriptor(call, socket, dialled.socket, neighbours, attempt.reason);
    attempt.allowed = error == 0;
  }
  if (error != 0) attempt.error = error_name(error);
  const auto entry = attempts_.add(std::move(attempt));
  if (error != 0) return error;
  meter_.add(dialled.socket.get(), entry);
  if (socket.blocking) return 0;
  const std::lock_guard lock(mutex_);
  if (unreported_.size() >= kMostUnreported) unreported_.clear();
  unreported_.insert(socket_identity(dialled.socket.get()));
  return EINPROGRESS;
}

int CallHandler::bind(WaitingCall& call, std::uint64_t network) {
  GivenAddress address;
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (const int error = call.read_address(address); error != 0) return error;
  if (shares_host() && is_inet(socket)) return refuse_port(address);
  if (datagrams_.holds(socket)) {
    // Resolvers bind to any address and any port before they ask.
    const auto wanted = read_endpoint(address.bytes, address.size);
    const bool any =
        wanted && wanted->port == 0 && kind_of(wanted->address) == AddressKind::Unspecified;
    return any ? 0 : refuse_port(address);
  }
  if (socket.domain == AF_UNIX) return local_.bind(call, socket, address);
  // A socket of the host's network would take a port of the host.
  if (!is_own(socket, network)) return EPERM;
  const bool plain_route = is_plain_route_address(socket, address);
  if (place_.mode != NetMode::Allow && !plain_route) {
    // Low ports and netlink groups go by the rights of who binds.
    const auto given = std::as_bytes(std::span(&address.bytes, 1)).first(address.size);
    return bind_in_sandbox_({socket.fd.get(), -1, 0, given});
  }
  if (!is_inet(socket) && !plain_route) return EPERM;
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  const auto size = static_cast<socklen_t>(address.size);
  return ::bind(socket.fd.get(), bytes, size) < 0 ? errno : 0;
}

// It would be a port of the host, open to everybody who can reach that.
int CallHandler::refuse_port(const GivenAddress& address) {
  const auto wanted = read_endpoint(address.bytes, address.size);
  if (!wanted) return EINVAL;
  attempts_.add_refusal("bind", "port " + std::to_string(wanted->port) +
                                    ": there is no network of the sandbox's own to listen on");
  return kRefusedCall;
}

int CallHandler::listen(WaitingCall& call, std::uint64_t network) const {
  GivenSocket socket;
  if (const int error = call.read_socket(socket); error != 0) return error;
  if (shares_host()) {
    // An internet socket that is not bound would take a port of the host.
    if (socket.domain != AF_UNIX) return kRefusedCall;
  } else if (socket.network != network) {
    return EPERM;
  }
  if (!is_inet(socket) && socket.domain != AF_UNIX) return EPERM;
  return ::listen(socket.fd.get(), call.argument_as_int(1)) < 0 ? errno : 0;
}

}  // namespace cordon
