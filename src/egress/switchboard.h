// Switchboard: what becomes of one trapped call of a sandbox. It decides, acts, and answers an
// errno for the caller; it never lets a call continue.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "egress/attempts.h"
#include "egress/endpoint.h"
#include "egress/live_rules.h"
#include "egress/lookup.h"
#include "egress/synthetic_names.h"
#include "egress/waiting_call.h"
#include "policy/decide_address.h"

namespace cordon {

// Thread-safe. The references must outlive it.
class Switchboard {
 public:
  Switchboard(const LiveRules& rules, const SyntheticNames& names, Attempts& attempts,
              std::vector<Address> own, int stop)
      : rules_(rules), names_(names), attempts_(attempts), own_(std::move(own)), stop_(stop) {}

  // `network` is the sandbox's network namespace.
  int answer(WaitingCall& call, std::uint64_t network);

 private:
  int connect(WaitingCall& call, std::uint64_t network);
  int bind(WaitingCall& call, std::uint64_t network) const;
  int listen(WaitingCall& call, std::uint64_t network) const;
  int connect_outside(WaitingCall& call, const GivenSocket& socket, const Endpoint& target,
                      const NetRules& net);
  int connect_again(const GivenSocket& socket, const GivenAddress& address);
  // The real addresses that may be dialled, and the errno for the caller if there are none.
  struct Judged {
    std::vector<Endpoint> targets;
    int error = 0;
  };
  Judged judge(const NetRules& net, const Endpoint& target, Connection& attempt);
  Judged judge_name(const NetRules& net, const std::string& name, const Endpoint& target,
                    Connection& attempt);

  const LiveRules& rules_;
  const SyntheticNames& names_;
  Attempts& attempts_;
  const std::vector<Address> own_;
  const int stop_;
  Lookup lookup_;
  std::mutex mutex_;
  std::set<std::uint64_t> unreported_;  // sockets that were connected while "in progress" was said
};

}  // namespace cordon
