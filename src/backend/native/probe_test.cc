#include "backend/native/probe.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/native/native_backend.h"

namespace cordon::native {
namespace {

std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

TEST(Probe, FindsEverythingOnTheBuildHost) {
  for (const Probe& probe : probe_kernel()) {
    EXPECT_TRUE(probe.ok) << probe.name << ": " << probe.detail;
    EXPECT_EQ(probe.error_number, 0) << probe.name;
  }
}

TEST(Probe, LeavesNoDescriptorBehind) {
  const std::size_t before = open_descriptors();
  probe_kernel();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Probe, KnowsTheActionsOfSeccomp) {
  const auto actions = seccomp_actions();
  EXPECT_TRUE(std::ranges::any_of(actions, [](const SeccompAction& action) {
    return action.name == "kill-process" && action.available;
  }));
}

TEST(Probe, NativeCapabilitiesClaimNoNetworkFilter) {
  const auto capabilities = probe_native();
  ASSERT_TRUE(capabilities);
  EXPECT_EQ(capabilities->backend, "native");
  EXPECT_TRUE(capabilities->fs_write);
  EXPECT_FALSE(capabilities->network_host_filtering);
  EXPECT_FALSE(capabilities->net_allow);
}

TEST(Probe, OnlyTheSymlinkMountIsOptional) {
  for (const Probe& probe : probe_kernel()) {
    EXPECT_EQ(is_required(probe), probe.name != "symlink-mount") << probe.name;
  }
}

}  // namespace
}  // namespace cordon::native
