// CallHandler: what becomes of one trapped call of a sandbox. It decides, acts, and answers an
// errno for the caller; it lets no call continue but those that
// only receive or ask, on a socket that it has nothing to do with: they reach nobody; and those
// that the filter allows anyway, and shows only so that they can be told of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "egress/datagram_stand_ins.h"
#include "egress/dial.h"
#include "egress/endpoint.h"
#include "egress/file_changes.h"
#include "egress/local_sockets.h"
#include "egress/meter.h"
#include "egress/names.h"
#include "egress/path_watch.h"
#include "egress/request_gate.h"
#include "egress/rules.h"
#include "egress/ssh_agent.h"
#include "egress/staged_renames.h"
#include "egress/target_judge.h"
#include "egress/waiting_call.h"

namespace cordon {

// Thread-safe. The references must outlive it.
class CallHandler {
 public:
  // What stays as it was at the start, whatever a ceiling says later.
  struct Place {
    NetMode mode = NetMode::None;
    std::uint64_t host_network = 0;
    std::vector<Address> own;  // addresses of this host
    // Where the sandbox shares the host's network in mode allow; else null.
    NameSockets* names = nullptr;
    bool own_view = false;                // of files: it is not the host's
    SshAgentFilter* ssh_agent = nullptr;  // null: there is none
    // Hosts that are reached by requests alone, in the order of their ports inside; and where to.
    std::vector<HostRule> gated = {};
    std::shared_ptr<RequestGate> gate = nullptr;
  };
  CallHandler(Place place, const RulesSource& rules, const SyntheticNames& names,
              Attempts& attempts, LocalSockets& local, const FileChanges& files,
              StagedRenames& renames, PathWatch& watch, ConnectionBudget& budget, Meter& meter,
              int stop)
      : place_(std::move(place)),
        rules_(rules),
        attempts_(attempts),
        local_(local),
        files_(files),
        renames_(renames),
        watch_(watch),
        budget_(budget),
        meter_(meter),
        stop_(stop),
        targets_(names, place_.own),
        datagrams_(place_.names, attempts, stop) {}

  // Before the first call.
  void serve(BindInSandbox bind_in_sandbox) { bind_in_sandbox_ = std::move(bind_in_sandbox); }

  // A connection to an endpoint with rules for requests, for the gate: judged and counted as one of
  // the command's. Invalid with an errno if there is none.
  Dialled dial_for_gate(const HostRule& endpoint);

  // `network` is the sandbox's network namespace in mode allow, where it is known.
  int answer(WaitingCall& call, std::uint64_t network);

 private:
  int connect(WaitingCall& call, std::uint64_t network);
  int bind(WaitingCall& call, std::uint64_t network);
  int listen(WaitingCall& call, std::uint64_t network) const;
  [[nodiscard]] bool shares_host() const { return place_.names != nullptr; }
  // Of a sandbox that shares the host's network in mode allow.
  int connect_sharing(WaitingCall& call, const GivenSocket& socket, const GivenAddress& address);
  int refuse_port(const GivenAddress& address);
  // True for the name by which the command was told of the agent.
  [[nodiscard]] bool names_ssh_agent(const GivenAddress& address) const;
  int connect_ssh_agent(WaitingCall& call, const GivenSocket& socket);
  // True if the socket belongs to the network that the mode gives.
  [[nodiscard]] bool is_own(const GivenSocket& socket, std::uint64_t network) const;
  int connect_outside(WaitingCall& call, const GivenSocket& socket, const NetRules& net,
                      const Endpoint& target);
  // The endpoint whose port inside that is; null if it is none.
  [[nodiscard]] const HostRule* gated_at(const Endpoint& target) const;
  int hand_to_gate(WaitingCall& call, const GivenSocket& socket, const HostRule& endpoint,
                   RequestGate::Way way);
  int dial_and_hand_over(WaitingCall& call, const GivenSocket& socket,
                         std::span<const Endpoint> targets, Connection attempt);
  void note_unreachable(const GivenSocket& socket, const GivenAddress& address);
  // Carried out by the kernel; where it leads nowhere, it is told.
  void note_datagram(WaitingCall& call);
  int connect_again(const GivenSocket& socket, const GivenAddress& address);

  const Place place_;
  const RulesSource& rules_;
  Attempts& attempts_;
  LocalSockets& local_;
  const FileChanges& files_;
  StagedRenames& renames_;
  PathWatch& watch_;
  ConnectionBudget& budget_;
  Meter& meter_;
  const int stop_;
  BindInSandbox bind_in_sandbox_;
  TargetJudge targets_;
  DatagramStandIns datagrams_;
  std::mutex mutex_;
  std::set<std::uint64_t> unreported_;  // sockets that were connected while "in progress" was said
};

}  // namespace cordon
