// Deny entries: from what a person wrote to globs anchored at canonical directories.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "cordon/policy.h"
#include "host/resolve.h"
#include "policy/effective.h"

namespace cordon {

// A leading "**/" means every directory there is, not just those below the one it was written in.
Result<std::vector<DenyGlob>> resolve_denies(std::span<const PathRule> rules, const Caller& caller);

}  // namespace cordon
