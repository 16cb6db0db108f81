#include "sandbox/landlock/landlock_backend.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <functional>

#include "plan/made_up_host.h"
#include "policy/net_rules.h"

namespace cordon::landlock {
namespace {

using ::testing::HasSubstr;

Plan plan_of(NetMode net, const Caller& caller = testing::made_up_user()) {
  Resolved request = testing::resolved_preset("workspace");
  request.policy.net.mode = access_of(net);
  ResolvedCeiling ceiling;
  ceiling.ceiling.policy.require.accept_missing = {run_without(Layer::Namespaces)};
  ceiling.ceiling.policy.net.mode = share_the_hosts_network();
  ceiling.read = request.read;
  ceiling.write = request.write;
  HostFacts facts = testing::made_up_facts();
  facts.cgroup = testing::made_up_cgroup_v2();
  auto plan = make_landlock_plan(*clamp(request, std::vector{ceiling}), facts, caller,
                                 testing::made_up_request());
  EXPECT_TRUE(plan);
  return plan ? std::move(*plan) : Plan{};
}

native::Measured confined() {
  native::Measured measured;
  measured.no_new_privileges = 1;
  measured.seccomp_mode = 2;
  measured.seccomp_filters = 1;
  measured.landlock_read = EACCES;
  measured.landlock_signal = EPERM;
  measured.refused_socket = EPERM;
  measured.tcp_bind = EACCES;
  measured.filtered_call = EPERM;
  return measured;
}

TEST(LandlockVerify, ReportsWhatIsInForceAndWhatIsMissing) {
  const auto found = verify(plan_of(NetMode::None), confined());
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_EQ(found->backend, "landlock");
  EXPECT_TRUE(found->landlock && found->seccomp && found->cap_drop && found->no_new_privs);
  EXPECT_FALSE(found->namespaces || found->pivot_root || found->bind_mounts);
  EXPECT_EQ(found->missing, std::vector<std::string>{"namespaces"});
  EXPECT_EQ(found->limits.at("scratch"), "watch");
}

TEST(LandlockVerify, RefusesWhateverIsNotInForce) {
  const struct {
    const char* layer;
    std::function<void(native::Measured&)> change;
  } cases[] = {
      {"landlock", [](auto& m) { m.landlock_read = 0; }},
      {"landlock", [](auto& m) { m.landlock_read_before = EACCES; }},
      {"landlock", [](auto& m) { m.landlock_signal = 0; }},
      {"seccomp", [](auto& m) { m.seccomp_mode = 0; }},
      {"seccomp", [](auto& m) { m.filtered_call = 0; }},  // somebody else's filter is on
      {"capabilities", [](auto& m) { m.capabilities[1] = 1; }},
      {"no_new_privs", [](auto& m) { m.no_new_privileges = 0; }},
      {"network", [](auto& m) { m.refused_socket = 0; }},
      {"network", [](auto& m) { m.tcp_bind = 0; }},
  };
  for (const auto& [layer, change] : cases) {
    native::Measured measured = confined();
    change(measured);
    const auto found = verify(plan_of(NetMode::None), measured);
    ASSERT_FALSE(found) << layer;
    EXPECT_THAT(found.error().what, HasSubstr(std::string("layer ") + layer));
  }
}

TEST(LandlockVerify, TheBoundingSetIsAskedOfWhoCanEmptyIt) {
  native::Measured measured = confined();
  measured.capabilities[3] = 1;
  EXPECT_TRUE(verify(plan_of(NetMode::None), measured));
  Caller root = testing::made_up_root();
  EXPECT_TRUE(verify(plan_of(NetMode::None, root), measured));  // of a container, without the right
  root.may_empty_bounding_set = true;
  EXPECT_FALSE(verify(plan_of(NetMode::None, root), measured));
}

TEST(LandlockVerify, AnOpenNetworkMayHaveSockets) {
  native::Measured measured = confined();
  measured.refused_socket = 0;
  measured.tcp_bind = 0;
  EXPECT_TRUE(verify(plan_of(NetMode::Open), measured));
}

}  // namespace
}  // namespace cordon::landlock
