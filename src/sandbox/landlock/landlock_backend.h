// The landlock backend: the native machinery without namespaces, for hosts that refuse them.
// Landlock holds the files, its scopes the processes, the filter the network, and a process of
// Cordon's own does what the kernel does when a pid namespace ends.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cordon/outcome.h"
#include "plan/plan.h"
#include "sandbox/backend.h"
#include "sandbox/native/protocol.h"
#include "sandbox/native/sandbox_init.h"

namespace cordon::landlock {

// The guard: parent of a sandbox's first process where there is no pid namespace. When the first
// process ends, or the supervisor does, it kills whatever descends from them and reaps it, as the
// kernel does with a pid namespace. No allocation, no lock, no return.

[[noreturn]] void guarded_sandbox_init(const native::Prepared& prepared,
                                       const native::SandboxInitFds& fds);

// Comparing what was read back from inside with the plan, before the command is released.

// Refuses if a layer of the plan is not in force.
Result<Enforcement> verify(const Plan& plan, const native::Measured& measured);

Result<std::unique_ptr<Building>> build_landlock(const Plan& plan, const HostFacts& facts,
                                                 const std::string& run_id,
                                                 const CommandStreams& streams);
// An error says what this host lacks.
Result<Capabilities> probe_landlock();

}  // namespace cordon::landlock
