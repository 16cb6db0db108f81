// Broker: answers the trapped calls and the DNS questions of one sandbox in network mode allow,
// from threads of the supervisor. The threads are made before the sandbox is: where they cannot be,
// no command is started.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "cordon/outcome.h"
#include "cordon/result.h"
#include "egress/live_rules.h"

namespace cordon {

// What a sandbox is answered on.
struct BrokerSockets {
  Fd listener;                // of the command's filter
  Fd datagrams;               // of the sandbox's network, for DNS
  Fd streams;                 // the same, listening
  std::uint64_t network = 0;  // the namespace of those two
};

class Broker {
 public:
  static Result<Broker> make(std::shared_ptr<const LiveRules> rules);
  Broker(Broker&&) noexcept = default;
  Broker& operator=(Broker&&) = delete;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  // Stops. Calls that still wait fail with ENOSYS when the last thread lets go of the listener.
  ~Broker();

  // Once.
  void serve(BrokerSockets sockets);

  [[nodiscard]] std::vector<Connection> connections() const;
  [[nodiscard]] std::vector<Denial> denials() const;

 private:
  struct State;
  explicit Broker(std::shared_ptr<State> state);
  static Result<void> start(const std::shared_ptr<State>& state, void (*body)(State&));
  static void answer_calls(State& state);
  static void answer_names(State& state);

  std::shared_ptr<State> state_;
};

}  // namespace cordon
