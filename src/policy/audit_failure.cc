#include "policy/audit_failure.h"

#include <algorithm>

namespace cordon {

AuditFailure audit_failure(std::span<const Ceiling> ceilings) {
  if (ceilings.empty()) return AuditFailure::Deny;
  return std::ranges::min(ceilings, {}, &Ceiling::on_audit_failure).on_audit_failure;
}

}  // namespace cordon
