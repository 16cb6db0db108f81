// The landlock backend: the native machinery without namespaces, for hosts that refuse them.
// Landlock holds the files, its scopes the processes, the filter the network, and a process of
// Cordon's own does what the kernel does when a pid namespace ends.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace cordon::landlock {

Result<std::unique_ptr<Child>> launch_landlock(const Plan& plan, const HostFacts& facts,
                                               const std::string& run_id,
                                               const CommandStreams& streams);
// An error says what this host lacks.
Result<Capabilities> probe_landlock();

}  // namespace cordon::landlock
