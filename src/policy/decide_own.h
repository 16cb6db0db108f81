// The part of decide() about what a sandbox has of its own, where no grant shows the host's.
#pragma once

#include <optional>

#include "policy/decide.h"

namespace cordon {

// The verdict of a private place, of /proc, of a device, of a file written for the sandbox, or of a
// directory that only leads to something; nothing if `path` is none of these.
std::optional<Verdict> decide_own(const Effective& effective, const HostFacts& facts,
                                  const Caller& caller, Access access, std::string_view path);

}  // namespace cordon
