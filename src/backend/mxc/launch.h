// Starting a command by an executor.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace cordon::mxc {

// `program` is Cordon's own, which the executor starts inside.
Result<std::unique_ptr<Child>> launch_mxc(const Plan& plan, const HostFacts& facts,
                                          const std::string& run_id, const CommandStreams& streams,
                                          const std::string& program);

}  // namespace cordon::mxc
