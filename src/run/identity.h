// As whom a sandbox's processes run, asked of the kernel from outside.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"
#include "cordon/runner.h"
#include "host/owner.h"
#include "plan/plan.h"

namespace cordon {

// Nothing if the process is gone or its ids cannot be read.
std::optional<Identity> identity_of(pid_t process);

// What the owner that a command of root's runs as may not reach. The sandbox is built as that
// owner, so a directory that only root may search would end the build in the middle.

// Tries everything in a process of its own that has become the owner: permission bits alone do not
// tell. What is to be masked or held behind a directory that the owner may not search is masked
// with that whole directory, which the command could not have entered. A grant that cannot be
// reached is refused.
Result<void> fit_to_owner(Plan& plan, const Owner& owner);

}  // namespace cordon
