// ClientConnection: one client's socket, the requests that come over it one after another, and the
// one socket to the rule's server that they go on over. What becomes of a request and of its answer
// is in exchange.h; here are the sockets, the phases and the time that each of them may take. Of
// the sources, client_exchange.cc has what follows once a request was let go.
//
// Nothing waits. Whatever happens, pump() moves all that can be moved and returns; the loop of
// gate.h calls it again when a socket or the supervisor has something new. Each queue is read into
// only while it is short, so that a peer that does not take what is sent to it stops the one who
// sends, and a connection never holds more than a few of these queues. A second request that
// arrives with the first stays where it is until the first is answered.
//
//   Greeting -> Waiting -> Asked -> Dialling -> Meeting -> Exchanging -> Waiting ...
//   (TLS)      (a head)   (go?)    (a socket)  (TLS)        or Tunnel     or Leaving -> Over
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "gate/process/byte_queue.h"
#include "gate/process/exchange.h"
#include "gate/process/tls.h"
#include "web/channel.h"

namespace cordon::gate {

using web::Channel;
using Clock = std::chrono::steady_clock;

struct RuleInForce {
  CompiledRule compiled;
  std::deque<Clock::time_point> recent;  // requests of the last minute, where they are counted
};

// What all connections have in common.
struct Common {
  std::vector<RuleInForce> rules;
  SecretStore secrets;
  UpstreamTls upstream;
  std::optional<RunAuthority> authority;
  Bounds bounds;
  std::function<void(const FromGate&)> tell;
  std::function<void(int)> forget;  // before a socket is closed
  std::uint64_t last_request = 0;
  std::uint64_t traffic = 0;  // bytes to and from all servers, as Bounds::traffic counts them
  // The supervisor has much left to take of what it was told. Each request is told, so that none is
  // read until it has: a program that asks faster than that is recorded waits, and nothing piles
  // up.
  bool is_behind = false;
};

class ClientConnection {
 public:
  ClientConnection(Common& common, std::uint64_t id, RuleInForce& rule, ClientMode mode, Fd socket,
                   Clock::time_point now);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;
  ~ClientConnection();

  // Moves what can be moved. True: there may be more, and nobody will say so.
  bool pump(Clock::time_point now);
  void go(Clock::time_point now);
  void stop(const std::string& reason);
  void dialled(Fd socket, const std::optional<std::string>& error, Clock::time_point now);
  void client_hung_up();
  // Ends what has lasted too long.
  void check_time(Clock::time_point now);

  [[nodiscard]] bool is_over() const { return phase_ == Phase::Over; }
  // Waits for the head of a request, and can be ended without breaking anything off.
  [[nodiscard]] bool is_idle() const {
    return phase_ == Phase::Waiting || phase_ == Phase::Greeting;
  }
  [[nodiscard]] Clock::time_point since() const { return since_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::optional<std::uint64_t> request() const;

  struct Interest {
    int socket = -1;
    std::uint32_t events = 0;
    bool operator==(const Interest&) const = default;
  };
  [[nodiscard]] Interest client_interest() const;
  [[nodiscard]] Interest upstream_interest() const;
  // What the loop has told the kernel.
  Interest client_known;
  Interest upstream_known;

 private:
  enum class Phase {
    Greeting,
    Waiting,
    Asked,
    Dialling,
    Meeting,
    Exchanging,
    Tunnel,
    Leaving,
    Over
  };

  // The request that is under way, and what of it the sockets have done.
  struct Current {
    std::uint64_t id;
    Clock::time_point begun;
    Exchange exchange;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool reused = false;  // over a socket that served before
    bool retried = false;
    bool upstream_deaf = false;  // takes no more of the request
    bool spent = false;          // more would have to be moved than Bounds::traffic leaves
    bool told = false;           // that it is done
  };

  bool step();
  bool wait_for_supervisor();
  bool greet();
  bool fail_greeting();
  void check_idle_upstream();
  bool await_head();
  void begin_request(std::string_view head);
  void refuse(const Refusal& refusal, const Judged& judged, Afterwards afterwards);
  void answer(const Refusal& refusal, std::string_view method, Afterwards afterwards);
  bool is_too_often();
  [[nodiscard]] std::uint64_t traffic_left() const;
  bool meet();
  void begin_exchange();
  bool exchange();
  bool move_request();
  bool move_response();
  bool feed_response();
  bool tunnel();
  bool leave();
  bool fill(Channel& from, ByteQueue& into, Channel::State& state);
  bool flush(Channel& to, ByteQueue& from, Channel::State& state);
  void end_exchange();
  void exchange_failed(Failure failure);
  void traffic_failed();
  void break_off(const std::string& reason);
  void tell_done(const std::optional<std::string>& ended);
  void drop(Channel& channel);
  void enter(Phase phase);
  [[nodiscard]] const Rule& rule() const { return rule_.compiled.rule; }
  [[nodiscard]] bool is_request_whole() const {
    return current_ && current_->exchange.is_request_whole();
  }

  Common& common_;
  std::uint64_t id_;
  RuleInForce& rule_;
  ClientMode mode_;
  Phase phase_ = Phase::Waiting;
  Channel client_;
  Channel upstream_;
  ByteQueue from_client_;
  ByteQueue to_client_;
  ByteQueue from_upstream_;
  ByteQueue to_upstream_;
  std::optional<Current> current_;
  bool served_ = false;    // the upstream socket carried a request before
  bool finished_ = false;  // the client was told that nothing more comes
  bool upstream_ended_ = false;
  std::uint64_t discarded_ = 0;
  Clock::time_point now_;
  Clock::time_point since_;  // the present phase, or the first byte of a head
  Clock::time_point client_moved_;
  Clock::time_point upstream_moved_;
};

}  // namespace cordon::gate
