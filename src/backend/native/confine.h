// What the command's process does to itself, one operation of Plan::confine at a time. No
// allocation. A test program may bring a confine and a join_group of its own (tests/omitted).
#pragma once

#include "backend/native/prepared.h"
#include "backend/native/protocol.h"

namespace cordon::native {

// 0, or -errno of the failing call. `ruleset` is negative where Landlock is accepted as missing.
int confine(const Op& operation, const Prepared& prepared, int ruleset, CommandReport& report);

// Moves this process into a v1 group, a descriptor of its list of processes. 0 or -EIO.
int join_group(int group);

// Reading the file that no rule of Landlock names: 0 or the errno.
int read_landlock_probe(const Prepared& prepared);

}  // namespace cordon::native
