// What a plan without mounts keeps instead of holding it.
#pragma once

#include "base/result.h"
#include "plan/tree.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"
#include "policy/protected_names.h"

namespace cordon {

// Protected files that are there, and what is granted read-only, in the writable grants of
// `effective`.
Keeping keeping_for(const Effective& effective, const HostFacts& facts);

// True for what a protected name leads through, and for a directory that leads to protected files
// alone, so that it can be found again by its identity. What leads to a path of the policy, a
// ceiling or Cordon's own decides what the next run is granted, and has to stay where it is while
// this one runs.
bool leads_to_kept(const Pinned& pinned, const Clamped& clamped, const HostFacts& facts,
                   const Caller& caller);

}  // namespace cordon
