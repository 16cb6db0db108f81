// find_frozen: the directories of read-only grants in which a credential store or a denied path
// could appear while the command runs.
#pragma once

#include <vector>

#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// After the masks are known: what lies in one is not shown at all. Sorted by path.
std::vector<Frozen> find_frozen(const Effective& effective, const Caller& caller,
                                const HostFacts& facts);

}  // namespace cordon
