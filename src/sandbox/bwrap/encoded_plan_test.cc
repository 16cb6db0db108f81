#include "sandbox/bwrap/encoded_plan.h"

#include <gtest/gtest.h>

#include "plan/made_up_host.h"

namespace cordon::bwrap {
namespace {

using namespace cordon::testing;  // the made-up host

EncodedPlan made_up_handover(std::string_view preset) {
  HostFacts facts = made_up_facts();
  facts.cgroup = made_up_cgroup_v1();
  facts.masked.push_back({.path = "/home/alex/project/.env",
                          .file = FileKind::Regular,
                          .id = {64, 7},
                          .reason = "credentials"});
  EncodedPlan encoded_plan;
  encoded_plan.plan = *make_native_plan(*clamp(resolved_preset(preset), {}), facts, made_up_user(),
                                        made_up_request());
  encoded_plan.fds = {10, 11, 12, 13, 14};
  encoded_plan.outside = {1, 2, 3, 4, 5, 6, 7};
  encoded_plan.mask = 027;
  encoded_plan.terminal = true;
  encoded_plan.rows = 24;
  encoded_plan.columns = 80;
  return encoded_plan;
}

class EncodedPlanOf : public ::testing::TestWithParam<const char*> {};

TEST_P(EncodedPlanOf, KeepsWhatIsCarriedOutInside) {
  const EncodedPlan given = made_up_handover(GetParam());
  const auto taken = decode(encode(given));
  ASSERT_TRUE(taken);
  const auto same = [](const std::vector<Op>& one, const std::vector<Op>& other) {
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].index(), other[i].index());
      EXPECT_EQ(describe(one[i]), describe(other[i]));
    }
  };
  same(given.plan.build, taken->plan.build);
  same(given.plan.confine, taken->plan.confine);
  same(given.plan.seal, taken->plan.seal);
  EXPECT_EQ(given.plan.limits, taken->plan.limits);
  EXPECT_EQ(given.plan.argv, taken->plan.argv);
  EXPECT_EQ(given.plan.candidates, taken->plan.candidates);
  EXPECT_EQ(given.plan.environment, taken->plan.environment);
  EXPECT_EQ(given.fds.in, taken->fds.in);
  EXPECT_EQ(given.fds.release, taken->fds.release);
  EXPECT_EQ(given.outside, taken->outside);
  EXPECT_EQ(given.mask, taken->mask);
  EXPECT_EQ(given.terminal, taken->terminal);
  EXPECT_EQ(given.columns, taken->columns);
  // Every member, not only those that are described.
  EXPECT_EQ(encode(given), encode(*taken));
}

INSTANTIATE_TEST_SUITE_P(Presets, EncodedPlanOf, ::testing::Values("strict", "workspace", "agent"));

TEST(EncodedPlan, IsRefusedUnlessItIsWhole) {
  const std::string whole = encode(made_up_handover("workspace"));
  ASSERT_TRUE(decode(whole));
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    EXPECT_FALSE(decode(std::string_view(whole).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode(whole + "x"));
}

}  // namespace
}  // namespace cordon::bwrap
