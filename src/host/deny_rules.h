// Deny entries: from what a person wrote to globs anchored at canonical directories.
#pragma once

#include <span>
#include <vector>

#include "cordon/policy.h"
#include "cordon/result.h"
#include "host/resolve.h"
#include "policy/effective.h"

namespace cordon {

// `grants` are the roots that a leading "**/" applies to: such a deny names every depth of every
// grant, not just the directory it was written in.
Result<std::vector<DenyGlob>> resolve_denies(std::span<const PathRule> rules,
                                             std::span<const Grant> grants, const Caller& caller);

}  // namespace cordon
