// Broker: answers the trapped calls of one sandbox and its DNS questions, from threads of the
// supervisor. In network mode allow the threads are made before the sandbox is: where they cannot
// be, no command is started. In the others most commands never call, so there is no thread before
// serve(). In mode none no name is known; what was asked for is told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "egress/broker_sockets.h"
#include "egress/dial.h"
#include "egress/path_watch.h"
#include "egress/request_gate.h"
#include "egress/rules.h"
#include "egress/staged_renames.h"
#include "policy/effective.h"

namespace cordon {

// Whose network the command's own sockets are of, in the modes none and allow; and whose view of
// files it has.
enum class SandboxNetwork { Own, Hosts };

struct BrokerRequest {
  NetRules net;
  std::vector<Grant> sockets;                // the host's local sockets that may be reached
  std::optional<std::string> ssh_agent;      // the person's, if signatures are lent
  std::shared_ptr<const LiveRules> live;     // judged by in place of `net`, if somebody replaces it
  RulesSource::CeilingsNow ceilings_now;     // of a run during which ceilings may change
  std::optional<std::uint64_t> connections;  // the most that may be made
  std::optional<std::uint64_t> sent;         // the most bytes that may be sent over them
  SandboxNetwork network = SandboxNetwork::Own;
  std::vector<std::string> writable;     // where modes and times may be changed, if asked
  std::vector<StagedPlace> staged = {};  // where renames are looked at
  StagedRenames::Tell tell_rename = {};
  PathWatch::Refuses refuses = {};              // of a run whose paths are watched
  std::shared_ptr<RequestGate> gate = nullptr;  // of a run with rules for requests
};

class Broker {
 public:
  static Result<Broker> make(BrokerRequest request);
  Broker(Broker&&) noexcept = default;
  Broker& operator=(Broker&&) = delete;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  // Stops. Calls that still wait fail with ENOSYS when the last thread lets go of the listener.
  ~Broker();

  // Once. Without a thread to answer, all calls fail with ENOSYS.
  void serve(BrokerSockets sockets);

  // For the gate, from any thread of its own (CallHandler::dial_for_gate).
  [[nodiscard]] std::function<Dialled(const HostRule& endpoint)> dialler() const;

  // Readable once more bytes were sent than may be.
  [[nodiscard]] int over_descriptor() const;
  // After the last process has ended, once: counts what its connections carried.
  void settle();

  [[nodiscard]] std::vector<Connection> connections() const;
  [[nodiscard]] std::vector<Denial> denials() const;
  // Of a run whose paths are watched.
  [[nodiscard]] std::vector<RefusedPath> refused_paths() const;
  [[nodiscard]] std::uint64_t untold_paths() const;

 private:
  struct State;
  explicit Broker(std::shared_ptr<State> state);
  static Result<void> start(const std::shared_ptr<State>& state, void (*body)(State&));
  static void answer_calls(State& state);
  static void answer_names(State& state);
  static void count_bytes(State& state);

  std::shared_ptr<State> state_;
};

}  // namespace cordon
