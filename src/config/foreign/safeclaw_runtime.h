// The outer layer of a policy of SafeClaw: settings of sandbox-runtime, which holds what the helper
// cannot (files that may not be read below a grant, protected names, the network).
#pragma once

#include <string>
#include <vector>

#include "config/foreign/safeclaw_policy.h"

namespace cordon {

// Reading is open there but for `credentials`; the helper's rules narrow it inside.
Node to_runtime_config(const SafeClawPolicy& policy, const std::vector<std::string>& credentials);

}  // namespace cordon
