// The memory of a process tree as the host sees it, for hosts without a memory cgroup.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace cordon {

// Anonymous and shared-memory bytes resident in `root` and everything that descends from it. Shared
// pages are counted once per process, so the figure errs on the large side.
std::uint64_t tree_memory(pid_t root);

}  // namespace cordon
