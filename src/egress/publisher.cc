#include "egress/publisher.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <list>
#include <optional>
#include <system_error>
#include <thread>

#include "egress/dial.h"
#include "egress/endpoint.h"
#include "egress/own_addresses.h"
#include "egress/waiting_call.h"
#include "sys/notify.h"
#include "sys/sockets.h"

namespace cordon {
namespace {

// Beyond these, callers wait in the queue of the kernel.
constexpr std::size_t kMostConnections = 128;
constexpr int kPauseMilliseconds = 100;

int outcome_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

}  // namespace

struct Publisher::State {
  // A connection that is being made inside, for a caller that waits outside.
  struct Entering {
    std::size_t port = 0;  // index of the published port
    Fd caller;
    Fd socket;
    int domain = AF_INET;
  };

  struct Carried {
    std::size_t port = 0;
    Tunnel tunnel;
  };

  std::vector<LoopbackPort> ports;
  std::vector<Published> account;
  Fd begin;  // readable once there is a source
  Fd stop;   // readable once it is over
  Fd source;
  std::optional<std::uint64_t> own_network;
  std::list<Entering> entering;
  std::list<Carried> carried;
  bool exhausted = false;
  std::thread thread;

  void run();
  void accept_from(std::size_t port, const Fd& listener);
  void enter(Entering caller);
  void decide(Entering caller);
  void refuse(Entering& caller) {
    ++account[caller.port].refused;
    sys::close_with_reset(std::move(caller.caller));
  }
  void carry(std::list<Carried>::iterator at);
};

Publisher::Publisher(std::unique_ptr<State> state) : state_(std::move(state)) {}
Publisher::Publisher(Publisher&&) noexcept = default;

Publisher::~Publisher() {
  if (state_) (void)end();
}

Result<Publisher> Publisher::make(const std::vector<PublishRule>& rules) {
  auto state = std::make_unique<State>();
  CORDON_TRY(ports, listen_at_loopback(rules));
  state->ports = std::move(ports);
  for (const PublishRule& rule : rules) state->account.push_back({rule.host_port, rule.port});
  state->begin = Fd(::eventfd(0, EFD_CLOEXEC));
  state->stop = Fd(::eventfd(0, EFD_CLOEXEC));
  const Fd own(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  state->own_network = sys::network_of(own.get());
  if (!state->begin.valid() || !state->stop.valid() || !state->own_network) {
    return fail(setup_error("cannot prepare to publish ports", errno));
  }
  Publisher publisher(std::move(state));
  const WithoutSignals without;
  try {
    publisher.state_->thread = std::thread(&State::run, publisher.state_.get());
  } catch (const std::system_error& error) {
    return fail(setup_error("cannot start the thread that publishes ports", error.code().value()));
  }
  return publisher;
}

void Publisher::serve(Fd socket_source) {
  state_->source = std::move(socket_source);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(state_->begin.get(), &one, sizeof one);
}

std::vector<Published> Publisher::end() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(state_->stop.get(), &one, sizeof one);
  if (state_->thread.joinable()) state_->thread.join();
  for (const State::Carried& carried : state_->carried) {
    state_->account[carried.port].received += carried.tunnel.bytes_in();
    state_->account[carried.port].sent += carried.tunnel.bytes_out();
  }
  state_->carried.clear();
  state_->entering.clear();
  state_->ports.clear();
  return state_->account;
}

void Publisher::State::run() {
  {
    pollfd polled[] = {{begin.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
    while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
    }
    if (polled[1].revents != 0 || polled[0].revents == 0) return;
  }
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign(1, {stop.get(), POLLIN, 0});
    const bool full = exhausted || entering.size() + carried.size() >= kMostConnections;
    for (const LoopbackPort& port : ports) {
      for (const Fd& listener : port.listeners) {
        polled.push_back({full ? -1 : listener.get(), POLLIN, 0});
      }
    }
    const std::size_t callers = polled.size();
    for (const Entering& caller : entering) polled.push_back({caller.socket.get(), POLLOUT, 0});
    const std::size_t tunnels = polled.size();
    for (const Carried& one : carried) {
      for (const pollfd& side : one.tunnel.wanted()) polled.push_back(side);
    }
    if (::poll(polled.data(), polled.size(), exhausted ? kPauseMilliseconds : -1) < 0) continue;
    exhausted = false;
    if (polled[0].revents != 0) return;
    // Only what was waited for is looked at: new ones join at the end of the lists meanwhile.
    auto one = carried.begin();
    for (std::size_t next = tunnels; next < polled.size(); next += 2) {
      const auto at = one++;
      if (polled[next].revents != 0 || polled[next + 1].revents != 0) carry(at);
    }
    auto caller = entering.begin();
    for (std::size_t next = callers; next < tunnels; ++next) {
      const auto at = caller++;
      if (polled[next].revents == 0) continue;
      decide(std::move(*at));
      entering.erase(at);
    }
    std::size_t next = 1;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      for (const Fd& listener : ports[i].listeners) {
        if (polled[next++].revents != 0) accept_from(i, listener);
      }
    }
  }
}

void Publisher::State::accept_from(std::size_t port, const Fd& listener) {
  Fd caller(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (caller.valid()) {
    enter({port, std::move(caller), Fd(), AF_INET});
  } else {
    // Without descriptors or memory the caller would be waited for in vain, again and again.
    exhausted = errno != EAGAIN && errno != ECONNABORTED && errno != EINTR;
  }
}

void Publisher::State::enter(Entering caller) {
  caller.socket = Fd(sys::take_socket(source.get(), caller.domain));
  // A socket of the host's network would lead to the host's own services.
  const auto network = sys::network_of(caller.socket.get());
  if (!network || network == own_network) return refuse(caller);
  const SocketAddress address =
      write_endpoint(loopback_at(caller.domain, ports[caller.port].rule.port), caller.domain);
  const int error = ::connect(caller.socket.get(), address.get(), address.size) < 0 ? errno : 0;
  if (error != 0 && error != EINPROGRESS) {
    if (caller.domain == AF_INET6) return refuse(caller);
    caller.domain = AF_INET6;
    return enter(std::move(caller));
  }
  entering.push_back(std::move(caller));
}

void Publisher::State::decide(Entering caller) {
  int error = outcome_of(caller.socket.get());
  if (error == 0 && sys::is_connected_to_itself(caller.socket.get())) {
    sys::close_with_reset(std::move(caller.socket));
    error = ECONNREFUSED;
  }
  if (error == 0) {
    ++account[caller.port].connections;
    carried.push_back({caller.port, Tunnel(std::move(caller.caller), std::move(caller.socket))});
  } else if (caller.domain == AF_INET) {
    // A server may listen at one of the two addresses only.
    caller.domain = AF_INET6;
    enter(std::move(caller));
  } else {
    refuse(caller);
  }
}

void Publisher::State::carry(std::list<Carried>::iterator at) {
  if (at->tunnel.carry()) return;
  account[at->port].received += at->tunnel.bytes_in();
  account[at->port].sent += at->tunnel.bytes_out();
  carried.erase(at);
}

}  // namespace cordon
