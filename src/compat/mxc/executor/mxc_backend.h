// The backend that drives a pinned MXC executor.
#pragma once

#include <memory>
#include <string>

#include "sandbox/backend.h"

namespace cordon::mxc {

// Starting a command by an executor.

// `program` is Cordon's own, which the executor starts inside.
Result<Launched> launch_mxc(const Plan& plan, const HostFacts& facts, const std::string& run_id,
                            const CommandStreams& streams, const std::string& program);

// `program` is Cordon's own, which runs inside before the command; empty where there is none, as in
// somebody else's program that links the library: then every plan is refused.
std::unique_ptr<Backend> make_mxc_backend(std::string program);

}  // namespace cordon::mxc
