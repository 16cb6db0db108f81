// What a plan goes without on this host, by name. Pure: from the facts and the limits alone.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace cordon {

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

}  // namespace cordon
