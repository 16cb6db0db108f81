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
#include "egress/local_sockets.h"
#include "egress/lookup.h"
#include "egress/synthetic_names.h"
#include "egress/waiting_call.h"
#include "policy/decide_address.h"

namespace cordon {

// Thread-safe. The references must outlive it.
class Switchboard {
 public:
  Switchboard(const NetRules& net, const SyntheticNames& names, Attempts& attempts,
              LocalSockets& local, std::vector<Address> own, std::uint64_t host_network, int stop)
      : net_(net),
        names_(names),
        attempts_(attempts),
        local_(local),
        own_(std::move(own)),
        host_network_(host_network),
        stop_(stop) {}

  // Before the first call.
  void serve(BindInside bind_inside) { bind_inside_ = std::move(bind_inside); }

  // `network` is the sandbox's network namespace in mode allow, where it is known.
  int answer(WaitingCall& call, std::uint64_t network);

 private:
  int connect(WaitingCall& call, std::uint64_t network);
  int bind(WaitingCall& call, std::uint64_t network);
  int listen(WaitingCall& call, std::uint64_t network) const;
  // True if the socket belongs to the network that the mode gives.
  [[nodiscard]] bool is_own(const GivenSocket& socket, std::uint64_t network) const;
  int connect_outside(WaitingCall& call, const GivenSocket& socket, const Endpoint& target);
  int connect_again(const GivenSocket& socket, const GivenAddress& address);
  // The real addresses that may be dialled, and the errno for the caller if there are none.
  struct Judged {
    std::vector<Endpoint> targets;
    int error = 0;
  };
  Judged judge(const Endpoint& target, Connection& attempt);
  Judged judge_name(const std::string& name, const Endpoint& target, Connection& attempt);

  const NetRules& net_;
  const SyntheticNames& names_;
  Attempts& attempts_;
  LocalSockets& local_;
  const std::vector<Address> own_;
  const std::uint64_t host_network_;
  const int stop_;
  BindInside bind_inside_;
  Lookup lookup_;
  std::mutex mutex_;
  std::set<std::uint64_t> unreported_;  // sockets that were connected while "in progress" was said
};

}  // namespace cordon
