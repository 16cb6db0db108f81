// Which mechanism holds each limit on this host.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace cordon {

struct LimitPlan {
  std::vector<PlannedLimit> planned;
  std::vector<op::ResourceLimit> resource_limits;
};

// Refuses a limit that nothing here can hold: a process limit for uid 0 without a cgroup
// (RLIMIT_NPROC never binds it), a processor share without one, connections that no broker makes.
Result<LimitPlan> plan_limits(const Limits& limits, NetMode net, const HostFacts& facts,
                              std::uint32_t uid);

}  // namespace cordon
