// The local sockets of the host that a policy or a ceiling lists, as grants: what is granted is the
// object that was there when it was looked at, not its name.
#pragma once

#include <vector>

#include "base/result.h"
#include "cordon/policy.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// One that does not exist is dropped with a reduction; something else than a socket is an error.
Result<std::vector<Grant>> resolve_sockets(const std::vector<PathRule>& rules, const Caller& caller,
                                           std::vector<Reduction>& reductions,
                                           std::vector<NamedPath>& named);
// One that does not exist bounds nothing.
Result<std::vector<Grant>> resolve_ceiling_sockets(const std::vector<PathRule>& rules,
                                                   const Caller& caller,
                                                   std::vector<NamedPath>& named);

}  // namespace cordon
