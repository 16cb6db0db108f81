#include "policy/names.h"

#include <gtest/gtest.h>

#include <vector>

namespace cordon {
namespace {

Ceiling that_says(AuditFailure choice) {
  Ceiling ceiling;
  ceiling.audit.on_failure = choice;
  return ceiling;
}

TEST(AuditFailureChoice, DeniesWithoutACeiling) {
  EXPECT_EQ(audit_choice({}).on_failure, AuditFailure::Deny);
}

TEST(AuditFailureChoice, IsThatOfTheOnlyCeiling) {
  for (const AuditFailure choice : {AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn}) {
    EXPECT_EQ(audit_choice(std::vector{that_says(choice)}).on_failure, choice);
  }
}

TEST(AuditFailureChoice, IsTheStrictestOfSeveral) {
  const Ceiling deny = that_says(AuditFailure::Deny);
  const Ceiling buffer = that_says(AuditFailure::Buffer);
  const Ceiling warn = that_says(AuditFailure::Warn);
  EXPECT_EQ(audit_choice(std::vector{warn, buffer}).on_failure, AuditFailure::Buffer);
  EXPECT_EQ(audit_choice(std::vector{warn, Ceiling{}}).on_failure, AuditFailure::Deny);
  EXPECT_EQ(audit_choice(std::vector{warn, buffer, deny}).on_failure, AuditFailure::Deny);
}

TEST(KeepBoundsChoice, IsOfEveryCeilingThatBoundsTheLog) {
  EXPECT_TRUE(audit_choice({}).keep.empty());
  EXPECT_TRUE(audit_choice(std::vector{Ceiling{}}).keep.empty());
  Ceiling days;
  days.audit.keep.days = 90;
  Ceiling bytes;
  bytes.audit.keep.bytes = 1 << 20;
  const std::vector<KeepBounds> both{days.audit.keep, bytes.audit.keep};
  EXPECT_EQ(audit_choice(std::vector{days, Ceiling{}, bytes}).keep, both);
}

}  // namespace
}  // namespace cordon
