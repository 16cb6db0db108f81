// What becomes of a policy's network and limits in a bundle that a person starts.
#pragma once

#include "compat/engine/engine.h"

namespace cordon {

void account_bundle_network(const Effective& effective, LossReport& report);
// A runtime that is started by another user than root has no control group.
void account_bundle_limits(const Effective& effective, const Caller& caller, LossReport& report);

}  // namespace cordon
