#include "config/schema.h"

#include "config/policy_document.h"

namespace cordon {
namespace {

// Made from schema/ while building, so that the binary and the shipped files cannot differ.
constexpr std::string_view kPolicySchema =
#include "policy_schema.inc"
    ;
constexpr std::string_view kReportSchema =
#include "report_schema.inc"
    ;

constexpr std::string_view kAuditSchema =
#include "audit_schema.inc"
    ;

}  // namespace

std::string_view policy_schema() { return kPolicySchema; }
std::string_view report_schema() { return kReportSchema; }
std::string_view audit_schema() { return kAuditSchema; }

namespace {

constexpr std::string_view kChangesSchema =
#include "changes_schema.inc"
    ;

}  // namespace

std::string_view changes_schema() { return kChangesSchema; }

}  // namespace cordon
