#include "sandbox/native/verify.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <functional>

#include "plan/made_up_host.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

using ::testing::HasSubstr;
using testing::made_up_facts;
using testing::made_up_request;
using testing::made_up_user;
using testing::resolved_preset;

constexpr std::array<std::uint64_t, 7> kOutside{1, 2, 3, 4, 5, 6, 7};

Plan plan_of(const Resolved& request) {
  auto plan =
      make_native_plan(*clamp(request, {}), made_up_facts(), made_up_user(), made_up_request());
  EXPECT_TRUE(plan);
  return plan ? std::move(*plan) : Plan{};
}

// What a sandbox shows in which everything is in force.
Measured confined() {
  Measured measured;
  measured.namespaces = {11, 12, 13, 14, 15, 16, 17};
  measured.no_new_privileges = 1;
  measured.seccomp_mode = 2;
  measured.seccomp_filters = 1;
  measured.landlock_read_before = 0;
  measured.landlock_read = EACCES;
  measured.landlock_signal = EPERM;
  measured.root_type = sys::kTmpfsMagic;
  measured.root_read_only = 1;
  measured.mounts_checked = 20;
  return measured;
}

TEST(Verify, ReportsEveryLayerOfAConfinedSandbox) {
  const Plan plan = plan_of(resolved_preset("workspace"));
  const auto found = verify(plan, confined(), kOutside);
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_EQ(found->backend, "native");
  EXPECT_TRUE(found->namespaces && found->pivot_root && found->bind_mounts && found->landlock &&
              found->seccomp && found->cap_drop && found->no_new_privs);
  EXPECT_EQ(found->landlock_abi, 7);
  EXPECT_EQ(found->network, "none");
  EXPECT_EQ(found->limits.at("pids"), "rlimit");
  EXPECT_TRUE(found->missing.empty());
}

// The root that a runtime makes is a directory on disk, which has to be read-only like every other.
TEST(Verify, TakesTheRootOfABundleOnlyIfItIsReadOnly) {
  Plan plan = plan_of(resolved_preset("workspace"));
  Measured measured = confined();
  measured.root_type = 0xEF53;
  EXPECT_FALSE(verify(plan, measured, kOutside));
  EXPECT_FALSE(verify_begun(plan, measured, kOutside));
  plan.build.emplace_back(op::RunBundle{});
  EXPECT_TRUE(verify(plan, measured, kOutside));
  EXPECT_TRUE(verify_begun(plan, measured, kOutside));
  measured.root_read_only = 0;
  EXPECT_FALSE(verify(plan, measured, kOutside));
}

struct Absence {
  std::string what;
  std::string layer;  // as the error names it
  std::function<void(Measured&)> cause;
};

class Missing : public ::testing::TestWithParam<Absence> {};

TEST_P(Missing, IsRefusedByName) {
  const Plan plan = plan_of(resolved_preset("workspace"));
  ASSERT_TRUE(verify(plan, confined(), kOutside));
  Measured measured = confined();
  GetParam().cause(measured);
  const auto refused = verify(plan, measured, kOutside);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Setup);
  EXPECT_EQ(refused.error().exit_status, 125);
  EXPECT_THAT(refused.error().what, HasSubstr("layer " + GetParam().layer + " is not in force"));
}

std::vector<Absence> absences() {
  std::vector<Absence> all = {
      {"RootOnAnotherFileSystem", "new root", [](Measured& m) { m.root_type = 0xef53; }},
      {"WritableRoot", "new root", [](Measured& m) { m.root_read_only = 0; }},
      {"NoMountChecked", "mounts", [](Measured& m) { m.mounts_checked = 0; }},
      {"WrongMount", "mounts", [](Measured& m) { m.wrong_mount = 0; }},
      {"FileStillReadable", "landlock", [](Measured& m) { m.landlock_read = 0; }},
      {"FileRefusedForAnotherReason", "landlock", [](Measured& m) { m.landlock_read = ENOENT; }},
      {"FileUnreadableBefore", "landlock", [](Measured& m) { m.landlock_read_before = EACCES; }},
      {"SignalDelivered", "landlock", [](Measured& m) { m.landlock_signal = 0; }},
      {"NoFilter", "seccomp", [](Measured& m) { m.seccomp_mode = 0; }},
      {"StrictModeInsteadOfAFilter", "seccomp", [](Measured& m) { m.seccomp_mode = 1; }},
      {"NoFilterCounted", "seccomp", [](Measured& m) { m.seccomp_filters = 0; }},
      {"NewPrivileges", "no_new_privs", [](Measured& m) { m.no_new_privileges = 0; }},
      {"UnreadablePrivileges", "no_new_privs", [](Measured& m) { m.no_new_privileges = -1; }},
  };
  constexpr std::array<const char*, 7> kNamespaces{"User", "Mount", "Pid",   "Net",
                                                   "Ipc",  "Uts",   "Cgroup"};
  for (std::size_t i = 0; i < kNamespaces.size(); ++i) {
    all.push_back({std::string(kNamespaces[i]) + "NamespaceOfTheHost", "namespaces",
                   [i](Measured& m) { m.namespaces[i] = kOutside[i]; }});
    all.push_back({std::string(kNamespaces[i]) + "NamespaceUnreadable", "namespaces",
                   [i](Measured& m) { m.namespaces[i] = 0; }});
  }
  constexpr std::array<const char*, 5> kSets{"Inheritable", "Permitted", "Effective", "Bounding",
                                             "Ambient"};
  for (std::size_t i = 0; i < kSets.size(); ++i) {
    all.push_back({std::string(kSets[i]) + "Capability", "capabilities",
                   [i](Measured& m) { m.capabilities[i] = 1; }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Each, Missing, ::testing::ValuesIn(absences()),
                         [](const auto& absence) { return absence.param.what; });

TEST(Verify, RefusesWhatASandboxThatSaidNothingShows) {
  EXPECT_FALSE(verify(plan_of(resolved_preset("workspace")), Measured{}, kOutside));
}

TEST(Verify, NamesTheMountThatIsNotAsPlanned) {
  const Plan plan = plan_of(resolved_preset("workspace"));
  Measured measured = confined();
  measured.wrong_mount = 3;
  const auto refused = verify(plan, measured, kOutside);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().operation, describe(plan.build[3]));
}

TEST(Verify, WantsTheHostsNetworkExactlyWhereThePlanSaysSo) {
  Resolved request = resolved_preset("workspace");
  request.policy.net.mode = share_the_hosts_network();
  const Plan plan = plan_of(request);
  EXPECT_FALSE(verify(plan, confined(), kOutside));
  Measured shared = confined();
  shared.namespaces[3] = kOutside[3];
  const auto found = verify(plan, shared, kOutside);
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_EQ(found->network, "open");
}

TEST(Verify, DoesNotAskAnOlderLandlockForItsScopes) {
  HostFacts facts = made_up_facts();
  facts.landlock_abi = 5;
  const auto plan = make_native_plan(*clamp(resolved_preset("workspace"), {}), facts,
                                     made_up_user(), made_up_request());
  ASSERT_TRUE(plan);
  Measured measured = confined();
  measured.landlock_signal = 0;
  EXPECT_TRUE(verify(*plan, measured, kOutside));
  measured.landlock_read = 0;
  EXPECT_FALSE(verify(*plan, measured, kOutside));
}

TEST(Verify, SaysWhichLayerACeilingAcceptedToGoWithout) {
  HostFacts facts = made_up_facts();
  facts.landlock_abi = 0;
  const Resolved request = resolved_preset("workspace");
  ResolvedCeiling ceiling;
  ceiling.ceiling.policy.require.accept_missing = {run_without(Layer::Landlock)};
  ceiling.read = request.read;
  ceiling.write = request.write;
  const auto plan = make_native_plan(*clamp(request, std::vector{ceiling}), facts, made_up_user(),
                                     made_up_request());
  ASSERT_TRUE(plan) << message(plan.error());
  Measured measured = confined();
  measured.landlock_read = 0;
  measured.landlock_signal = 0;
  const auto found = verify(*plan, measured, kOutside);
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_FALSE(found->landlock);
  EXPECT_EQ(found->missing, std::vector<std::string>{"landlock"});
}

TEST(Verify, LetsAFirstProcessBeginOnlyWhereItIsOnItsOwn) {
  const Plan plan = plan_of(resolved_preset("workspace"));
  const Measured good = confined();
  EXPECT_TRUE(verify_begun(plan, good, kOutside));
  for (std::size_t i = 0; i < kOutside.size(); ++i) {
    Measured shared = good;
    shared.namespaces[i] = kOutside[i];
    EXPECT_FALSE(verify_begun(plan, shared, kOutside)) << i;
    Measured unknown = good;
    unknown.namespaces[i] = 0;
    EXPECT_FALSE(verify_begun(plan, unknown, kOutside)) << i;
    std::array<std::uint64_t, 7> unread = kOutside;
    unread[i] = 0;
    EXPECT_FALSE(verify_begun(plan, good, unread)) << i;
  }
  Measured on_disk = good;
  on_disk.root_type = 0xef53;
  const auto refused = verify_begun(plan, on_disk, kOutside);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("new root"));
}

}  // namespace
}  // namespace cordon::native
