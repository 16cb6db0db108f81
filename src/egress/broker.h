// Broker: answers the trapped calls of one sandbox, and in network mode allow its DNS questions,
// from threads of the supervisor. In that mode the threads are made before the sandbox is: where
// they cannot be, no command is started. In the others most commands never call, so there is no
// thread before serve().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/inside_bind.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "cordon/result.h"
#include "policy/effective.h"

namespace cordon {

// What a sandbox is answered on.
struct BrokerSockets {
  Fd listener;                       // of the command's filter
  Fd datagrams;                      // of the sandbox's network, for DNS; mode allow alone
  Fd streams;                        // the same, listening
  std::uint64_t network = 0;         // the namespace of those two
  std::uint64_t private_device = 0;  // what only the sandbox can have made files on; or zero
  BindInside bind_inside;
};

class Broker {
 public:
  // `sockets` are the host's local sockets that may be reached.
  static Result<Broker> make(const NetRules& net, std::span<const Grant> sockets);
  Broker(Broker&&) noexcept = default;
  Broker& operator=(Broker&&) = delete;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  // Stops. Calls that still wait fail with ENOSYS when the last thread lets go of the listener.
  ~Broker();

  // Once. Without a thread to answer, all calls fail with ENOSYS.
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
