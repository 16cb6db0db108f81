// Looking at a process that waits inside an executor's sandbox, from outside and before it is
// released: nothing that the executor says about itself is taken for true.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "cordon/outcome.h"
#include "plan/plan.h"
#include "sandbox/native/protocol.h"

namespace cordon::mxc {

// The enforcement of a report, every flag from evidence: namespaces and status as /proc tells them
// for `command`, its root and mounts by looking through /proc/PID/root. Anything the plan promises
// and the sandbox does not show is a Setup error that names it.
Result<Enforcement> measure(const Plan& plan, pid_t command, pid_t init,
                            const native::CommandReport& report);

// The namespaces of another process; zero for what cannot be read.
native::NamespaceIds namespaces_of(pid_t process);

// Delivers a signal to every process of that pid namespace but its first, which ignores what it has
// no handler for.
void signal_namespace(std::uint64_t pid_namespace, int number);

}  // namespace cordon::mxc
