#include "policy/names.h"

#include <gtest/gtest.h>

#include <vector>

namespace cordon {
namespace {

Ceiling that_says(AuditFailure choice) {
  Ceiling ceiling;
  ceiling.on_audit_failure = choice;
  return ceiling;
}

TEST(AuditFailureChoice, DeniesWithoutACeiling) {
  EXPECT_EQ(audit_failure({}), AuditFailure::Deny);
}

TEST(AuditFailureChoice, IsThatOfTheOnlyCeiling) {
  for (const AuditFailure choice : {AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn}) {
    EXPECT_EQ(audit_failure(std::vector{that_says(choice)}), choice);
  }
}

TEST(AuditFailureChoice, IsTheStrictestOfSeveral) {
  const Ceiling deny = that_says(AuditFailure::Deny);
  const Ceiling buffer = that_says(AuditFailure::Buffer);
  const Ceiling warn = that_says(AuditFailure::Warn);
  EXPECT_EQ(audit_failure(std::vector{warn, buffer}), AuditFailure::Buffer);
  EXPECT_EQ(audit_failure(std::vector{warn, Ceiling{}}), AuditFailure::Deny);
  EXPECT_EQ(audit_failure(std::vector{warn, buffer, deny}), AuditFailure::Deny);
}

}  // namespace
}  // namespace cordon
