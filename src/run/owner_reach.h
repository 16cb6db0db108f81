// Whether the owner a command of root's runs as can reach what its sandbox is made of. The sandbox
// is built as that owner, so a directory that only root may search would end the build in the
// middle.
#pragma once

#include "cordon/result.h"
#include "host/owner.h"
#include "plan/plan.h"

namespace cordon {

// Tries it in a process of its own that has become the owner: permission bits alone do not tell.
Result<void> check_owner_reaches(const Plan& plan, const Owner& owner);

}  // namespace cordon
