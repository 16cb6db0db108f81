#include "plan/limits.h"

#include <gmock/gmock.h>

#include "plan/made_up_host.h"

namespace cordon {
namespace {

using ::testing::IsEmpty;
using testing::made_up_cgroup_v1;
using testing::made_up_cgroup_v2;
using testing::made_up_facts;

constexpr std::uint32_t kRoot = 0;
constexpr std::uint32_t kUser = 1000;
const NetRules kAllow = [] {
  NetRules net;
  net.mode = NetMode::Allow;
  return net;
}();

HostFacts facts_with(CgroupFacts cgroup) {
  HostFacts facts = made_up_facts();
  facts.cgroup = std::move(cgroup);
  return facts;
}

// The mechanism that holds a limit, None if it is not planned.
LimitBy holder(const LimitPlan& plan, const std::string& name) {
  for (const PlannedLimit& limit : plan.planned) {
    if (limit.name == name) return limit.by;
  }
  return LimitBy::None;
}

std::optional<std::uint64_t> rlimit(const LimitPlan& plan, const std::string& name) {
  for (const op::ResourceLimit& limit : plan.resource_limits) {
    if (limit.name == name) return limit.value;
  }
  return std::nullopt;
}

TEST(PlanLimits, ForbidCoreDumpsWithoutBeingAsked) {
  const auto plan = plan_limits({}, kAllow, made_up_facts(), kUser);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->planned, IsEmpty());
  EXPECT_EQ(rlimit(*plan, "core"), 0);
}

TEST(PlanLimits, UseTheCgroupForMemoryAndProcessesWhereThereIsOne) {
  const Limits limits{.memory = 1 << 20, .pids = 64};
  const auto v1 = plan_limits(limits, kAllow, facts_with(made_up_cgroup_v1()), kRoot);
  ASSERT_TRUE(v1);
  EXPECT_EQ(holder(*v1, "memory"), LimitBy::CgroupV1);
  EXPECT_EQ(holder(*v1, "pids"), LimitBy::CgroupV1);
  const auto v2 = plan_limits(limits, kAllow, facts_with(made_up_cgroup_v2()), kRoot);
  ASSERT_TRUE(v2);
  EXPECT_EQ(holder(*v2, "memory"), LimitBy::CgroupV2);
  EXPECT_EQ(holder(*v2, "pids"), LimitBy::CgroupV2);
  EXPECT_EQ(rlimit(*v2, "data"), std::nullopt);
  EXPECT_EQ(rlimit(*v2, "nproc"), std::nullopt);
}

TEST(PlanLimits, WatchMemoryOfAnOrdinaryUserWithoutACgroup) {
  const auto plan = plan_limits({.memory = 1 << 20, .pids = 64}, kAllow, made_up_facts(), kUser);
  ASSERT_TRUE(plan);
  EXPECT_EQ(holder(*plan, "memory"), LimitBy::Watch);
  EXPECT_EQ(rlimit(*plan, "data"), std::nullopt);  // sanitizers reserve terabytes
  EXPECT_EQ(holder(*plan, "pids"), LimitBy::Rlimit);
  EXPECT_EQ(rlimit(*plan, "nproc"), 64);
}

TEST(PlanLimits, WatchTheProcessesOfRootWithoutACgroup) {
  const auto plan = plan_limits({.memory = 1 << 20, .pids = 64}, kAllow, made_up_facts(), kRoot);
  ASSERT_TRUE(plan);
  EXPECT_EQ(holder(*plan, "memory"), LimitBy::Watch);
  EXPECT_EQ(holder(*plan, "pids"), LimitBy::Watch);
  EXPECT_EQ(rlimit(*plan, "nproc"), std::nullopt);  // it would not bind uid 0
}

TEST(PlanLimits, WatchWhatAV1HierarchyHasNoControllerFor) {
  CgroupFacts cgroup = made_up_cgroup_v1();
  cgroup.parents.erase("pids");
  const auto plan = plan_limits({.memory = 1 << 20, .pids = 64}, kAllow, facts_with(cgroup), kRoot);
  ASSERT_TRUE(plan);
  EXPECT_EQ(holder(*plan, "memory"), LimitBy::CgroupV1);
  EXPECT_EQ(holder(*plan, "pids"), LimitBy::Watch);
}

TEST(PlanLimits, ARequiredCgroupIsMissedForEveryBoundThatItShouldHold) {
  Effective effective;
  effective.limits = {.memory = 1 << 20, .pids = 64};
  EXPECT_FALSE(lacks_required_cgroup(effective, made_up_facts()));
  effective.require = {Layer::Cgroup};
  EXPECT_TRUE(lacks_required_cgroup(effective, made_up_facts()));
  CgroupFacts cgroup = made_up_cgroup_v2();
  EXPECT_FALSE(lacks_required_cgroup(effective, facts_with(cgroup)));
  cgroup.parents.erase("memory");
  EXPECT_TRUE(lacks_required_cgroup(effective, facts_with(cgroup)));
  effective.limits.memory.reset();
  EXPECT_FALSE(lacks_required_cgroup(effective, facts_with(cgroup)));
  effective.accept_missing = {Layer::Cgroup};
  EXPECT_FALSE(lacks_required_cgroup(effective, made_up_facts()));
}

TEST(PlanLimits, RefuseAProcessorShareThatAV2GroupDoesNotHandOn) {
  CgroupFacts cgroup = made_up_cgroup_v2();
  cgroup.parents.erase("cpu");
  EXPECT_FALSE(plan_limits({.cpus_milli = 500}, kAllow, facts_with(cgroup), kRoot));
  const auto plan = plan_limits({.memory = 1 << 20}, kAllow, facts_with(cgroup), kUser);
  ASSERT_TRUE(plan);
  EXPECT_EQ(holder(*plan, "memory"), LimitBy::CgroupV2);
}

TEST(PlanLimits, RefuseAProcessorShareWithoutACgroup) {
  const auto refused = plan_limits({.cpus_milli = 500}, kAllow, made_up_facts(), kUser);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, ::testing::HasSubstr("limit cpus"));
  const auto held =
      plan_limits({.cpus_milli = 500}, kAllow, facts_with(made_up_cgroup_v2()), kUser);
  ASSERT_TRUE(held);
  EXPECT_EQ(holder(*held, "cpus"), LimitBy::CgroupV2);
}

TEST(PlanLimits, RoundProcessorTimeUpToTheSecondsOfAnRlimit) {
  for (const auto& [milliseconds, seconds] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {1000, 1}, {1001, 2}}) {
    const auto plan = plan_limits({.cpu_ms = milliseconds}, kAllow, made_up_facts(), kUser);
    ASSERT_TRUE(plan);
    EXPECT_EQ(rlimit(*plan, "cpu"), seconds) << milliseconds;
  }
}

TEST(PlanLimits, NameEveryLimitThatWasAskedFor) {
  const Limits all{.wall_ms = 1,
                   .cpu_ms = 1,
                   .memory = 1,
                   .pids = 1,
                   .cpus_milli = 1,
                   .files = 16,
                   .file_size = 1,
                   .output = 1,
                   .output_total = 1};
  const auto plan = plan_limits(all, kAllow, facts_with(made_up_cgroup_v2()), kUser);
  ASSERT_TRUE(plan);
  std::vector<std::string> names;
  for (const PlannedLimit& limit : plan->planned) {
    names.push_back(limit.name);
    EXPECT_NE(limit.by, LimitBy::None) << limit.name;
  }
  EXPECT_THAT(names,
              ::testing::UnorderedElementsAre("wall", "cpu", "memory", "pids", "cpus", "files",
                                              "file_size", "output", "output_total"));
}

TEST(PlanLimits, AreNotSmallerThanWhatASandboxTakes) {
  const auto plan = plan_limits({.files = 15}, kAllow, made_up_facts(), kUser);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::Unsupported);
  EXPECT_THAT(plan.error().what, ::testing::HasSubstr("limits.files = 15"));
  EXPECT_THAT(plan.error().hint, ::testing::StartsWith("--files 16 "));
}

TEST(PlanLimits, RequestsAreBoundedByTheGateWhereThereIsOne) {
  const Limits limits{.requests = 5, .request_traffic = 1 << 20};
  NetRules judged = kAllow;
  judged.http.emplace_back().host = parse_http_host("x.org").value();
  const auto plan = plan_limits(limits, judged, made_up_facts(), kUser);
  ASSERT_TRUE(plan);
  EXPECT_EQ(holder(*plan, "requests"), LimitBy::Gate);
  EXPECT_EQ(holder(*plan, "request_traffic"), LimitBy::Gate);
  // Without a rule none is sent, and nobody has to count.
  EXPECT_THAT(plan_limits(limits, kAllow, made_up_facts(), kUser)->planned, IsEmpty());
  EXPECT_THAT(plan_limits(limits, NetRules(), made_up_facts(), kUser)->planned, IsEmpty());
  NetRules open;
  open.mode = share_the_hosts_network();
  for (const Limits& one : {Limits{.requests = 5}, Limits{.request_traffic = 1 << 20}}) {
    const auto refused = plan_limits(one, open, made_up_facts(), kUser);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  }
}

}  // namespace
}  // namespace cordon
