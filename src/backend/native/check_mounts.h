// Reading back, from inside, that every mount of a plan is there and says what was planned.
// No allocation.
#pragma once

#include "backend/native/protocol.h"
#include "plan/plan.h"

namespace cordon::native {

// Counts what was checked and keeps the index of the first mount that is not as planned. Call after
// the root was sealed.
void measure_mounts(const Plan& plan, Measured& measured);

}  // namespace cordon::native
