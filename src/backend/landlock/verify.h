// Comparing what was read back from inside with the plan, before the command is released.
#pragma once

#include "backend/native/protocol.h"
#include "cordon/outcome.h"
#include "cordon/result.h"
#include "plan/plan.h"

namespace cordon::landlock {

// Refuses if a layer of the plan is not in force. There are no namespaces to compare.
Result<Enforcement> verify(const Plan& plan, const native::Measured& measured,
                           const native::Namespaces& outside = {});

}  // namespace cordon::landlock
