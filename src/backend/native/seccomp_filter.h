// The seccomp layer: one table of decisions compiled to the program the kernel runs at every system
// call of the sandbox. Calls of a foreign architecture (and of x32) kill the process, unknown
// numbers give ENOSYS, refused ones EPERM. Compiling is pure and quick enough for every launch;
// the child installs the finished program without allocating.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

#include "backend/native/filter_profile.h"
#include "backend/native/syscall_table.h"

namespace cordon {

std::vector<sock_filter> compile_filter(Arch arch, const FilterProfile& profile);

// One line for a printed plan: how many calls get which answer, and the program's length.
std::string describe_filter(Arch arch, const FilterProfile& profile);

}  // namespace cordon
