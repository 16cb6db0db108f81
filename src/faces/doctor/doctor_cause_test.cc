#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "faces/doctor/doctor_check.h"
#include "faces/doctor/doctor_view.h"

namespace cordon {
namespace {

using testing::HasSubstr;
using testing::Not;

Check check(std::string name, CheckStatus status, std::string cure,
            CheckCategory category = CheckCategory::Security) {
  return {category, std::move(name), status, "found", std::move(cure)};
}

Check not_started(std::string name) {
  Check made = check(std::move(name), CheckStatus::Fail, "something of its own");
  made.evidence = Evidence::NotStarted;
  return made;
}

TEST(DoctorCause, OneCureIsToldOnceAndTheOthersAreCounted) {
  std::vector<Check> checks{
      check("first", CheckStatus::Fail, "sysctl"), check("second", CheckStatus::Fail, "sysctl"),
      check("fine", CheckStatus::Pass, ""), check("other", CheckStatus::Warn, "install it")};
  find_causes(checks);
  EXPECT_EQ(checks[0].cause, "");
  EXPECT_EQ(checks[1].cause, "first");
  EXPECT_EQ(checks[2].cause, "");
  EXPECT_EQ(checks[3].cause, "");
  const std::string text = doctor_text(checks);
  EXPECT_THAT(text, HasSubstr("1 more check depends on it: second\n"));
  EXPECT_THAT(text, HasSubstr("Summary: 1 passed, 1 warning(s), 1 failed\n"));
  EXPECT_EQ(text.find("sysctl"), text.rfind("sysctl"));
  EXPECT_THAT(doctor_hints(checks), Not(HasSubstr("second")));
}

TEST(DoctorCause, AFailureIsNeverHiddenBehindAWarning) {
  std::vector<Check> checks{check("warned", CheckStatus::Warn, "sysctl"),
                            check("failed", CheckStatus::Fail, "sysctl")};
  find_causes(checks);
  EXPECT_EQ(checks[0].cause, "failed");
  EXPECT_EQ(checks[1].cause, "");
}

TEST(DoctorCause, WhatCouldNotBeStartedDependsOnWhatStopsEveryRun) {
  std::vector<Check> checks{not_started("bwrap"),
                            check("user-namespace", CheckStatus::Fail, "allow"),
                            not_started("live-write"), not_started("live-read")};
  find_causes(checks);
  for (const Check& each : checks) {
    EXPECT_EQ(each.cause, each.name == "user-namespace" ? "" : "user-namespace") << each.name;
  }
}

TEST(DoctorCause, WithoutAnOtherFailureTheFirstThatWasNotStartedSpeaks) {
  std::vector<Check> checks{check("fine", CheckStatus::Pass, ""), not_started("live-write"),
                            not_started("live-read")};
  find_causes(checks);
  EXPECT_EQ(checks[1].cause, "");
  EXPECT_EQ(checks[2].cause, "live-write");
}

TEST(DoctorCause, InsideACordonSandboxThatExplainsEverything) {
  HostAccount account;
  account.system = "Linux";
  account.machine = "aarch64";
  account.in_cordon = true;
  std::vector<Check> checks = judge_account(account);
  find_causes(checks);
  EXPECT_EQ(checks.front().name, kNestedCheck);
  for (const Check& each : checks) {
    const bool trouble = each.status != CheckStatus::Pass && each.name != kNestedCheck;
    EXPECT_EQ(each.cause, trouble ? kNestedCheck : "") << each.name;
  }
}

TEST(DoctorCause, ACureNeverSendsToDoctor) {
  EXPECT_EQ(cure_of(setup_error("x", 0, "set HOME"), "else"), "set HOME");
  EXPECT_EQ(cure_of(setup_error("x", 0), "else"), "else");
  EXPECT_EQ(cure_of(setup_error("x", 0, "see cordon doctor"), "else"), "else");
}

}  // namespace
}  // namespace cordon
