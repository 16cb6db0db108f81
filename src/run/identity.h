// As whom a sandbox's processes run, asked of the kernel from outside.
#pragma once

#include <sys/types.h>

#include <optional>

#include "cordon/runner.h"

namespace cordon {

// Nothing if the process is gone or its ids cannot be read.
std::optional<Identity> identity_of(pid_t process);

}  // namespace cordon
