// Which mechanism holds each limit on this host.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace cordon {

struct LimitPlan {
  std::vector<PlannedLimit> planned;
  std::vector<op::ResourceLimit> resource_limits;
};

// Refuses a limit that nothing here can hold: a processor share without a cgroup, connections that
// no broker makes, requests that no gate sends.
Result<LimitPlan> plan_limits(const Limits& limits, const NetRules& net, const HostFacts& facts,
                              std::uint32_t uid);

// True if the policy requires cgroup limits and this host has none for one of its bounds, and no
// ceiling accepts that.
bool lacks_required_cgroup(const Effective& effective, const HostFacts& facts);

// What a plan goes without on this host, by name. Pure: from the facts and the limits alone.

// What a Landlock of this ABI does not check of what Cordon asks of the newest; 0: there is none.
// Cordon uses neither the TCP rules of ABI 4 nor the audit records of ABI 7, so nothing goes with
// those.
std::vector<Loss> landlock_losses(int abi);
// What every run without namespaces goes without.
std::vector<Loss> namespace_losses(NetMode net);
// What the mechanisms that hold the limits go without.
std::vector<Loss> limit_losses(const std::vector<PlannedLimit>& limits);

// What no kernel holds: what appears in places that cannot be shown as they were, and descriptors
// that wait in sockets.
std::vector<Loss> general_losses(const Effective& effective, const HostFacts& facts);

// Adds `more` to what the plan goes without.
void lose(Plan& plan, const std::vector<Loss>& more);

// From which version of Landlock's interface on a right can be given or withheld.

inline constexpr int kAbiWithRefer = 2;
inline constexpr int kAbiWithTruncate = 3;
inline constexpr int kAbiWithIoctl = 5;
inline constexpr int kAbiWithScopes = 6;  // signals and abstract sockets; Linux 6.12

}  // namespace cordon
