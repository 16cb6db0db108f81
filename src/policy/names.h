// What all ceilings together say about the audit log.
#pragma once

#include <span>
#include <vector>

#include "cordon/policy.h"

namespace cordon {

struct AuditChoice {
  // The strictest; a ceiling that does not say anything denies, and so does having none.
  AuditFailure on_failure = AuditFailure::Deny;
  // Of each ceiling that bounds the log. A day goes only if every one of them lets it go: none can
  // shorten what another keeps.
  std::vector<KeepBounds> keep;
};
AuditChoice audit_choice(std::span<const Ceiling> ceilings);

}  // namespace cordon
