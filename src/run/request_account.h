// RequestAccount: what is counted of the requests of one run. Its budgets, which are taken from
// before a request is sent, and what the report lists afterwards: what was sent, and what was
// refused.
//
// Whoever runs inside decides how many requests there are and what they ask for, so each list has
// an end, and what is beyond it is summed up in one line. What went well has an end of its own:
// nobody gets it out of the list by asking for much that is refused. No locks: the gate's mutex
// holds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cordon/outcome.h"
#include "gate/protocol.h"
#include "policy/effective.h"
#include "run/gate.h"

namespace cordon {

class RequestAccount {
 public:
  RequestAccount(const Limits& limits, std::vector<SecretRule> secrets)
      : limits_(limits), secrets_(std::move(secrets)) {}

  struct Spent {
    std::string rule;  // the budget, as a policy says it
    std::string reason;
  };
  // Takes one request from the budgets, or says which of them is used up. Whatever is about to be
  // sent counts, whether or not somebody answers. A request that is refused for one budget takes
  // nothing of another. `secret` is the name of what it carries; empty: none.
  std::optional<Spent> take(const std::string& secret);

  void refused(const GateRequest& request, const std::string& reason);
  void done(const GateRequest& request, const gate::Done& done);
  // One that was sent, and of which nobody can tell any more what became of it.
  void cut_off(const GateRequest& request, const std::string& reason);

  // Once, at the end.
  Gate::Account settle();

 private:
  void count(SentRequests request);
  void deny(const GateRequest& request, const std::string& reason);

  Limits limits_;
  std::vector<SecretRule> secrets_;
  std::uint64_t requests_ = 0;
  std::map<std::string, std::uint64_t> carried_;  // requests, by the name of their secret
  std::uint64_t traffic_ = 0;                     // bytes to and from all servers
  std::vector<SentRequests> sent_;
  std::vector<Gate::Refused> refused_;
  SentRequests unlisted_{"not listed", "", "", 0, 0, 0, 0, ""};
};

}  // namespace cordon
