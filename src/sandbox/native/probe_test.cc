#include "sandbox/native/probe.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sandbox/native/native_backend.h"

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

TEST(Probe, NativeFiltersHostsWhereAFilterCanAsk) {
  const auto capabilities = probe_native();
  ASSERT_TRUE(capabilities);
  EXPECT_EQ(capabilities->backend, BackendKind::Native);
  EXPECT_TRUE(capabilities->fs_write);
  const auto probes = probe_kernel();
  const bool asks = std::ranges::any_of(
      probes, [](const Probe& probe) { return probe.name == "seccomp-listener" && probe.ok; });
  EXPECT_EQ(capabilities->network_host_filtering, asks);
  EXPECT_EQ(capabilities->net_allow, asks);
}

TEST(Probe, OnlyTheSymlinkMountAndTheListenerAreOptional) {
  for (const Probe& probe : probe_kernel()) {
    EXPECT_EQ(is_required(probe), probe.name != "symlink-mount" && probe.name != "seccomp-listener")
        << probe.name;
  }
}

}  // namespace
}  // namespace cordon::native
