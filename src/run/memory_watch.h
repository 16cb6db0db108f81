// The memory of a process tree as the host sees it, for hosts without a memory cgroup.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace cordon {

// Anonymous and shared-memory bytes resident in everything that descends from `root`. The root
// itself is the sandbox's first process, a copy of Cordon's caller, and not the command's doing.
// Shared pages are counted once per process, so the figure errs on the large side.
std::uint64_t tree_memory(pid_t root);

}  // namespace cordon
