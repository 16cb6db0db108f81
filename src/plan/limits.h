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
// no broker makes.
Result<LimitPlan> plan_limits(const Limits& limits, NetMode net, const HostFacts& facts,
                              std::uint32_t uid);

// True if the policy requires cgroup limits and this host has none for one of its bounds, and no
// ceiling accepts that.
bool lacks_required_cgroup(const Effective& effective, const HostFacts& facts);

}  // namespace cordon
