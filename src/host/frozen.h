// find_frozen: the directories of read-only grants in which a credential store or a denied path
// could appear while the command runs.
#pragma once

#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// After the masks are known: what lies in one is not shown at all. Fills `frozen`, sorted by path,
// and `unlisted` with those of them that nobody may list.
void find_frozen(const Effective& effective, const Caller& caller, HostFacts& facts);

}  // namespace cordon
