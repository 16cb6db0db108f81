// Root in somebody else's project. A sandbox takes root's powers away, and without them root may
// not even write what another user owns. So root's command runs as the owner of what it may write,
// where root has the power to make it so; else it is said before the start what would fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool operator==(const Owner&) const = default;
};

// How a backend gives the command an identity.
enum class IdentityMapping {
  AnyOwner,  // it writes the id maps itself, and can map whom it wants
  OnlySelf,  // the caller's own id is all it can map, or it maps none
};

// Whom the command runs as instead of the caller: only if the caller is root and every writable
// root has one owner, one group, and that owner is not root. Refuses a writable root that the
// command could not write.
Result<std::optional<Owner>> owner_to_run_as(const std::vector<Grant>& writable,
                                             const Caller& caller, IdentityMapping mapping);

}  // namespace cordon
