// What a deny says about one path. The one reading of a DenyGlob, for the survey that finds masks
// and for decide() that explains them.
#pragma once

#include <string_view>

#include "policy/effective.h"

namespace cordon {

// True if `deny` names exactly `path` (canonical); what lies below a denied directory is denied
// with it. An anchored pattern without '/' means an entry directly below the anchor.
bool deny_matches(const DenyGlob& deny, std::string_view path);

}  // namespace cordon
