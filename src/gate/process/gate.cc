#include "gate/process/gate.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <memory>
#include <unordered_map>

#include "gate/process/client_connection.h"
#include "gate/process/confine.h"
#include "sys/calls.h"
#include "sys/sockets.h"

namespace cordon::gate {
namespace {

constexpr std::size_t kMostBundle = std::size_t{16} << 20U;
constexpr std::uint64_t kOfControl = ~std::uint64_t{0};
constexpr int kTick = 250;               // milliseconds between two looks at the clock
constexpr std::size_t kMostUntold = 64;  // messages, beside those that the kernel holds
constexpr std::chrono::seconds kToTellTheRest{5};

struct Packet {
  std::string text;
  std::array<Fd, sys::kMostPassed> descriptors;
};
enum class Received { Packet, Nothing, End };

Received receive(Packet& packet) {
  static std::vector<char> room(kMostPacket);
  sys::Passed passed;
  const ssize_t got = sys::receive_passing(kControl, room.data(), room.size(), passed);
  for (std::size_t i = 0; i < passed.count; ++i) packet.descriptors[i] = Fd(passed.descriptors[i]);
  if (got > 0) {
    packet.text.assign(room.data(), static_cast<std::size_t>(got));
    // It may be a secret.
    std::fill_n(room.begin(), got, '\0');
    return Received::Packet;
  }
  return got < 0 && errno == EAGAIN ? Received::Nothing : Received::End;
}

// From its beginning, whatever was read before.
Result<std::string> contents_of(const Fd& file, std::size_t longest, std::string_view what) {
  std::string text;
  for (off_t at = 0;;) {
    std::array<char, std::size_t{16} << 10U> room;
    const ssize_t got = ::pread(file.get(), room.data(), room.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(setup_error(std::string(what) + " cannot be read", errno));
    if (got == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(got));
    at += got;
    // What passed through here may be secret, and the stack is used again.
    std::ranges::fill(room, '\0');
    asm volatile("" : : "r"(room.data()) : "memory");
    if (text.size() > longest) return fail(setup_error(std::string(what) + " is too large", 0));
  }
}

// As many descriptors as are permitted, and no more connections than these carry.
void fit_bounds(Bounds& bounds) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  constexpr rlim_t kOwn = 16;
  const rlim_t most = files.rlim_cur > 2 * kOwn ? (files.rlim_cur - kOwn) / 2 : 1;
  bounds.connections = static_cast<std::uint32_t>(std::min<rlim_t>(bounds.connections, most));
}

class Gate {
 public:
  Gate(Configuration configuration, std::vector<RuleInForce> rules, UpstreamTls upstream,
       std::optional<RunAuthority> authority, Fd events)
      : events_(std::move(events)),
        common_{std::move(rules),
                SecretStore(std::move(configuration.secrets)),
                std::move(upstream),
                std::move(authority),
                configuration.bounds,
                [this](const FromGate& message) { tell(message); },
                [this](int socket) { ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket, nullptr); },
                0,
                0,
                false} {}

  [[nodiscard]] std::optional<std::string> certificate() const {
    return common_.authority ? std::optional(common_.authority->certificate()) : std::nullopt;
  }

  void tell(const FromGate& message) {
    unsent_.push_back(encode(message));
    send_unsent();
  }

  void run() {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kOfControl;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, kControl, &event) != 0) return;
    auto last_look = Clock::now();
    while (!ended_) {
      std::array<epoll_event, 256> ready;
      const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()),
                                     again_.empty() ? kTick : 0);
      if (count < 0 && errno != EINTR) return;
      now_ = Clock::now();
      for (int i = 0; i < count; ++i) handle(ready[static_cast<std::size_t>(i)]);
      for (const std::uint64_t id : std::exchange(again_, {}))
        if (ClientConnection* connection = find(id)) pump(*connection);
      if (std::exchange(caught_up_, false)) resume();
      if (now_ - last_look < std::chrono::milliseconds(kTick)) continue;
      last_look = now_;
      look_at_clock();
    }
    connections_.clear();
    tell_the_rest();
  }

 private:
  void send_unsent() {
    while (!unsent_.empty()) {
      const std::string& packet = unsent_.front();
      const ssize_t sent =
          ::send(kControl, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) {
        if (errno != EAGAIN) ended_ = unheard_ = true;
        break;
      }
      unsent_.pop_front();
    }
    if (unsent_.size() >= kMostUntold) common_.is_behind = true;
    if (unsent_.empty() && std::exchange(common_.is_behind, false)) caught_up_ = true;
    const std::uint32_t wanted = EPOLLIN | (unsent_.empty() ? 0U : std::uint32_t{EPOLLOUT});
    if (wanted == control_events_) return;
    control_events_ = wanted;
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = kOfControl;
    ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, kControl, &event);
  }

  // What waited for the supervisor goes on, beginning behind the one that went on last: a client
  // with ever more requests does not come first each time.
  void resume() {
    std::vector<std::uint64_t> ids;
    ids.reserve(connections_.size());
    for (const auto& [id, connection] : connections_)
      if (connection->is_idle()) ids.push_back(id);
    std::ranges::sort(ids);
    std::ranges::rotate(ids, std::ranges::upper_bound(ids, resumed_));
    for (const std::uint64_t id : ids) {
      if (common_.is_behind) return;
      resumed_ = id;
      if (ClientConnection* connection = find(id)) pump(*connection);
    }
  }

  // The supervisor has nothing more to say, and hears what is left.
  void tell_the_rest() {
    const auto until = Clock::now() + kToTellTheRest;
    while (!unsent_.empty() && !unheard_ && Clock::now() < until) {
      epoll_event event{};
      event.events = EPOLLOUT;
      event.data.u64 = kOfControl;
      ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, kControl, &event);
      if (::epoll_wait(events_.get(), &event, 1, kTick) < 0 && errno != EINTR) return;
      send_unsent();
    }
  }

  ClientConnection* find(std::uint64_t id) {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second.get();
  }

  void handle(const epoll_event& event) {
    if (event.data.u64 == kOfControl) {
      if ((event.events & EPOLLOUT) != 0) send_unsent();
      if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) take_messages();
      return;
    }
    ClientConnection* connection = find(event.data.u64 / 2);
    if (!connection) return;
    const bool of_client = event.data.u64 % 2 == 0;
    if (of_client && (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
      connection->client_hung_up();
    pump(*connection);
  }

  void pump(ClientConnection& connection) {
    if (connection.pump(now_)) again_.push_back(connection.id());
    if (connection.is_over()) {
      connections_.erase(connection.id());
      return;
    }
    watch(connection.client_interest(), connection.client_known, connection.id() * 2);
    watch(connection.upstream_interest(), connection.upstream_known, connection.id() * 2 + 1);
  }

  void watch(const ClientConnection::Interest& wanted, ClientConnection::Interest& known,
             std::uint64_t mark) {
    if (wanted == known) return;
    epoll_event event{};
    event.events = wanted.events;
    event.data.u64 = mark;
    if (wanted.socket >= 0)
      ::epoll_ctl(events_.get(), known.socket == wanted.socket ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
                  wanted.socket, &event);
    known = wanted;
  }

  void take_messages() {
    // So many that a supervisor with much to say does not stop what is under way.
    for (int i = 0; i < 64; ++i) {
      Packet packet;
      switch (receive(packet)) {
        case Received::Packet:
          take(packet);
          break;
        case Received::Nothing:
          return;
        case Received::End:
          ended_ = true;
          return;
      }
    }
  }

  void take(Packet& packet) {
    auto message = decode_to_gate(packet.text);
    std::ranges::fill(packet.text, '\0');
    // A supervisor that does not speak as agreed is none.
    if (!message) {
      ended_ = true;
      return;
    }
    if (auto* connection = std::get_if<gate::Connection>(&*message)) {
      admit(*connection, std::move(packet.descriptors[0]));
    } else if (auto* answered = std::get_if<Go>(&*message)) {
      if (ClientConnection* asking = asking_for(answered->id)) {
        asking->go(now_);
        pump(*asking);
      }
    } else if (auto* stopped = std::get_if<Stop>(&*message)) {
      if (ClientConnection* asking = asking_for(stopped->id)) {
        asking->stop(stopped->reason);
        pump(*asking);
      }
    } else if (auto* dialled = std::get_if<Dialled>(&*message)) {
      if (ClientConnection* dialling = find(dialled->id)) {
        dialling->dialled(std::move(packet.descriptors[0]), dialled->error, now_);
        pump(*dialling);
      }
    } else if (auto* secret = std::get_if<NewSecret>(&*message)) {
      common_.secrets.replace(secret->name, secret->value);
      std::ranges::fill(secret->value, '\0');
    }
  }

  // Few connections ask at once, and each answer is for one of them.
  ClientConnection* asking_for(std::uint64_t request) {
    const auto found = std::ranges::find_if(
        connections_, [&](const auto& e) { return e.second->request() == request; });
    return found == connections_.end() ? nullptr : found->second.get();
  }

  void admit(const gate::Connection& message, Fd socket) {
    const auto rule = std::ranges::find_if(
        common_.rules, [&](const RuleInForce& r) { return r.compiled.rule.id == message.rule; });
    if (!socket.valid() || rule == common_.rules.end() || connections_.contains(message.id)) return;
    if (connections_.size() >= common_.bounds.connections && !make_room()) return;
    auto& added = connections_[message.id];
    added = std::make_unique<ClientConnection>(common_, message.id, *rule, message.mode,
                                               std::move(socket), now_);
    pump(*added);
  }

  // Ends the connection that has waited longest without a request.
  bool make_room() {
    ClientConnection* oldest = nullptr;
    for (const auto& [id, connection] : connections_)
      if (connection->is_idle() && (!oldest || connection->since() < oldest->since()))
        oldest = connection.get();
    if (!oldest) return false;
    connections_.erase(oldest->id());
    return true;
  }

  void look_at_clock() {
    std::vector<std::uint64_t> ids;
    ids.reserve(connections_.size());
    for (const auto& [id, connection] : connections_) {
      connection->check_time(now_);
      ids.push_back(id);
    }
    for (const std::uint64_t id : ids)
      if (ClientConnection* connection = find(id)) pump(*connection);
  }

  Fd events_;
  std::deque<std::string> unsent_;
  std::uint32_t control_events_ = EPOLLIN;
  bool ended_ = false;
  bool unheard_ = false;  // the supervisor is gone altogether
  bool caught_up_ = false;
  std::uint64_t resumed_ = 0;
  Clock::time_point now_ = Clock::now();
  Common common_;
  std::vector<std::uint64_t> again_;
  std::unordered_map<std::uint64_t, std::unique_ptr<ClientConnection>> connections_;
};

Result<std::unique_ptr<Gate>> set_up() {
  CORDON_CHECK(hide_memory());
  if (!web::begin_tls()) return fail(setup_error("OpenSSL cannot be started", 0));
  Packet packet;
  if (receive(packet) != Received::Packet) return fail(setup_error("there is no supervisor", 0));
  CORDON_TRY(first, decode_to_gate(packet.text));
  if (!std::holds_alternative<Configure>(first) || !packet.descriptors[0].valid() ||
      !packet.descriptors[1].valid())
    return fail(setup_error("the first message is not the configuration", 0));
  CORDON_TRY(text, contents_of(packet.descriptors[0], kMostConfiguration, "the configuration"));
  auto decoded = decode_configuration(text);
  std::ranges::fill(text, '\0');
  CORDON_TRY(configuration, std::move(decoded));
  CORDON_TRY(bundle, contents_of(packet.descriptors[1], kMostBundle, "the trust bundle"));
  CORDON_TRY(upstream, UpstreamTls::make(bundle));
  std::vector<RuleInForce> rules;
  std::vector<std::string> hosts;
  for (const Rule& rule : configuration.rules) {
    CORDON_TRY(compiled, compile(rule));
    rules.push_back({std::move(compiled), {}});
    hosts.push_back(rule.host);
  }
  std::optional<RunAuthority> authority;
  if (configuration.authority) {
    CORDON_TRY(made, RunAuthority::make(hosts));
    authority.emplace(std::move(made));
  }
  fit_bounds(configuration.bounds);
  Fd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!events.valid()) return fail(setup_error("no epoll", errno));
  return std::make_unique<Gate>(std::move(configuration), std::move(rules), std::move(upstream),
                                std::move(authority), std::move(events));
}

void tell_plainly(const FromGate& message) {
  const std::string packet = encode(message);
  static_cast<void>(::send(kControl, packet.data(), packet.size(), MSG_NOSIGNAL));
}

}  // namespace

int serve() {
  // A peer that is gone is seen by the result of a write.
  std::signal(SIGPIPE, SIG_IGN);
  sys::close_range(kControl + 1, ~0U);
  auto gate = set_up();
  if (gate) {
    const int flags = ::fcntl(kControl, F_GETFL);
    ::fcntl(kControl, F_SETFL, flags | O_NONBLOCK);
    if (auto confined = confine(); !confined) gate = fail(std::move(confined).error());
  }
  if (!gate) {
    tell_plainly(Failed{message(gate.error())});
    return 1;
  }
  (*gate)->tell(Ready{(*gate)->certificate()});
  (*gate)->run();
  return 0;
}

}  // namespace cordon::gate
