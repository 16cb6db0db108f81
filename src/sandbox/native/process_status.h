// Reading back a process's security state from /proc, without allocation.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "sandbox/native/protocol.h"

namespace cordon::native {

// Fills capabilities, no_new_privileges and seccomp of `pid` from its status file. What cannot be
// read stays at a value that no plan accepts.
void measure_process(pid_t pid, Measured& measured);
// The parsing alone, for tests.
void parse_status(std::string_view status, Measured& measured);
// Processes and threads that /proc shows: all of this pid namespace.
std::uint64_t count_tasks();
// The namespaces of the calling thread. No other process may be asked: one that is not dumpable
// hides its own. Leaves errno alone.
NamespaceIds own_namespaces();

// The mask of this process for the modes of files, which the kernel tells otherwise only to whoever
// changes it. The strictest one if it cannot be read.
mode_t own_umask();

}  // namespace cordon::native
