// Gate: the process that judges the requests of one run and adds its secrets (cordon-gate), with
// the supervisor's end of what they say to each other. It is started only for a run with rules for
// requests. When it dies, requests fail and nothing opens; when this one dies, it ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cordon/outcome.h"
#include "egress/dial.h"
#include "egress/request_gate.h"
#include "gate/protocol.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// A request that is about to be sent, or was refused.
struct GateRequest {
  std::string rule;
  std::string host;  // "HOST:PORT"
  std::string method;
  std::string path;
  std::string secret;  // its name; empty: none
};

class Gate {
 public:
  // From threads of the gate's own.
  struct Work {
    // A connection to a host, judged as every other one.
    std::function<Dialled(const HostRule& endpoint)> dial;
    // Makes it durable that this request is sent. Answers with what `end` takes.
    std::function<Result<std::size_t>(const GateRequest& request)> begin;
    std::function<void(std::size_t begun, const gate::Done& done)> end;
    std::function<void(const GateRequest& request, const std::string& reason)> refuse;
  };

  // Starts the process, reads the secrets and waits until it can serve.
  static Result<std::unique_ptr<Gate>> start(const Effective& effective, const Caller& caller);
  // The file with the certificates that servers are judged by.
  static Result<std::string> trust_store(const Caller& caller);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  [[nodiscard]] std::shared_ptr<RequestGate> way_in() const;
  // Of the authority that the run's certificates are made by, in PEM.
  [[nodiscard]] const std::string& certificate() const;
  // Once.
  void serve(Work work);
  struct Refused {
    Denial denial;
    std::string method;  // empty if it could not be read
    std::string path;    // the same, of the first of these requests
  };
  struct Account {
    std::vector<SentRequests> requests;
    std::vector<Refused> refused;
  };
  // After the last process of the run has ended, once: no request goes on after it.
  Account end();

 private:
  struct State;
  explicit Gate(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace cordon
