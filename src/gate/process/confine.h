// What the gate gives up once it is configured, for good.
#pragma once

#include <vector>

#include "base/result.h"
#include "sandbox/native/seccomp_filter.h"

namespace cordon::gate {

// Before any secret is read: no core dump, and no other process of the same user can read this
// one's memory.
Result<void> hide_memory();

// No new privileges, no capabilities, no file and no port (Landlock, where the kernel has it), and
// the calls of gate_filter alone. What is open stays open.
Result<void> confine();

// The calls of the gate: moving bytes over descriptors it has, its own memory, time, randomness and
// its end. None opens a file, makes a socket, a process or executable memory; one that is tried
// ends the process.
std::vector<sock_filter> gate_filter(Arch arch);

}  // namespace cordon::gate
