// Comparing what was read back from inside with the plan, before the command is released.
#pragma once

#include "backend/native/protocol.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "plan/plan.h"

namespace cordon::landlock {

// Refuses if a layer of the plan is not in force.
Result<Enforcement> verify(const Plan& plan, const native::Measured& measured);

}  // namespace cordon::landlock
