// What a command is given whatever mechanism contains it: its environment, its credential, and the
// places where its program is looked for.
#pragma once

#include "plan/plan.h"

namespace cordon {

// Of a plan whose argv and cwd are set.
void plan_command(const Effective& effective, const Caller& caller, Plan& plan);

}  // namespace cordon
