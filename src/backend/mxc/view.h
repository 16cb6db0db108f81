// The view in which an executor runs: native's, built by the keeper. No allocation.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace cordon::mxc {

// Carries out the operations of `plan` up to the executor's. 0, or -errno; `index` is then that of
// the operation that failed.
int build_view(const Plan& plan, std::uint32_t& index);

}  // namespace cordon::mxc
