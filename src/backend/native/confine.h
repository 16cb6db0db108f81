// The command's own process, from fork to exec. No allocation, no lock, no return.
#pragma once

#include "backend/native/build.h"
#include "backend/native/prepared.h"

namespace cordon::native {

// `report` and `release` are descriptors of the first process; `ruleset` may be negative where
// Landlock is accepted as missing.
[[noreturn]] void become_command(const Prepared& prepared, int report, int release, int ruleset);

}  // namespace cordon::native
