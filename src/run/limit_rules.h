// Which line of a policy set the limit that a run met: a denial without it is a number from
// nowhere.
#pragma once

#include <vector>

#include "cordon/outcome.h"
#include "policy/effective.h"

namespace cordon {

// Fills in the rule of denials that the kernel, a watch or the broker told without one: of limits,
// and of sockets of the host.
void name_rules(const Effective& effective, std::vector<Denial>& denials);

}  // namespace cordon
