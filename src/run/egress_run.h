// The broker and the publisher of a run.
#pragma once

#include <optional>

#include "egress/broker.h"
#include "egress/publisher.h"
#include "run/gate.h"
#include "run/judge.h"

namespace cordon {

// Network mode allow needs its threads, and a list of sockets its looks, before the start; the
// commands of a session ask it from other threads. Otherwise there is nothing to be prepared for a
// call that may never come.
Result<std::optional<Broker>> make_broker(const RunInput& input, const JudgedRun& run,
                                          const Gate* gate);

// Only a run with rules for requests has one.
Result<std::unique_ptr<Gate>> make_gate(const JudgedRun& run);

// Only a run that publishes ports has one.
Result<std::optional<Publisher>> make_publisher(const NetRules& net);

// Lets the broker answer the calls of the sandbox; makes one if there is none yet. Where none can
// be made, the listener is closed and every call fails.
void serve_calls(const RunInput& input, const JudgedRun& run, BrokerSockets& egress,
                 std::optional<Broker>& broker);

// After the last process has ended: what was connected and what was refused, by whom and why.
void add_attempts(const RunInput& input, const JudgedRun& run, Broker& broker, Outcome& outcome);

// The same of requests: what was sent, and as denials what was refused.
void add_requests(const RunInput& input, const JudgedRun& run, Gate& gate, Outcome& outcome);

}  // namespace cordon
