// The operator's choice for a run whose audit record cannot be written.
#pragma once

#include <span>

#include "cordon/policy.h"

namespace cordon {

// The strictest of all ceilings that count; one that does not say anything denies, and so does
// having none.
AuditFailure audit_failure(std::span<const Ceiling> ceilings);

}  // namespace cordon
