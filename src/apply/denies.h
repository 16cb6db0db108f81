// Denies of a policy. Landlock only grants, so a deny is held by granting nothing there; one that a
// grant covers cannot be held and is refused.
#pragma once

#include "apply/refusal.h"
#include "config/foreign/safeclaw_policy.h"

namespace cordon::apply {

// Paths are compared where they lead to. A path that is not there yet lies where its nearest parent
// that is there does.
Judged<void> check_denies(const SafeClawPolicy& policy);

}  // namespace cordon::apply
