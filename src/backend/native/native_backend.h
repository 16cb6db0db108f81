// Starting a sandbox with the native mechanism.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace cordon::native {

Result<std::unique_ptr<Child>> launch_native(const Plan& plan, const HostFacts& facts,
                                             const std::string& run_id,
                                             const CommandStreams& streams);
// Really makes the namespaces and mounts a plan needs, in a child; an error says what refused.
Result<Capabilities> probe_native();

}  // namespace cordon::native
