// The plan of a run on macOS: a profile for files and the network, limits of single processes, and
// nothing of what Linux has beside that.
#pragma once

#include "plan/plan.h"

namespace cordon::seatbelt {

inline constexpr const char* kSandboxExec = "/usr/bin/sandbox-exec";

// Refuses layers that a policy requires and no ceiling accepts to go without, lists of hosts and of
// sockets, published ports, and limits that nothing there can hold.
Result<Plan> make_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                       const PlanRequest& request);

}  // namespace cordon::seatbelt
