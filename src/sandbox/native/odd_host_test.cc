#include "sandbox/native/host_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace cordon::native {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kOrdinary =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "23 22 0:21 / /proc rw,nosuid - proc proc rw\n"
    "24 23 0:22 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
    "25 22 0:23 / /home rw,noexec - ext4 /dev/vda2 rw\n";

TEST(OddHost, AnInitramfsIsTheKernelsFirstRoot) {
  EXPECT_FALSE(root_is_initramfs(kOrdinary));
  EXPECT_TRUE(
      root_is_initramfs("1 1 0:2 / / rw - rootfs rootfs rw\n20 1 0:4 / /proc rw - proc p rw\n"));
  // Something was mounted over it, and that is the root that is seen.
  EXPECT_FALSE(
      root_is_initramfs("1 1 0:2 / / rw - rootfs rootfs rw\n21 1 0:9 / / rw - tmpfs t rw\n"));
  EXPECT_FALSE(root_is_initramfs(""));
}

TEST(OddHost, NamesWhatCoversProc) {
  EXPECT_THAT(mounts_over_proc(kOrdinary), IsEmpty());
  EXPECT_THAT(mounts_over_proc("5 4 0:5 / /proc rw - proc proc rw\n"
                               "6 5 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n"
                               "7 5 0:7 / /proc/acpi ro master:1 shared:2 - tmpfs tmpfs ro\n"
                               "8 5 0:7 / /proc/acpi ro - tmpfs tmpfs ro\n"
                               "9 4 0:7 / /process ro - tmpfs tmpfs ro\n"),
              ElementsAre("/proc/kcore", "/proc/acpi"));
}

TEST(OddHost, ADeviceThatIsARegularFileIsRefused) {
  Plan plan;
  plan.build = {op::DeviceNode{"/dev/null"}};
  EXPECT_TRUE(check_devices(plan).has_value());
  plan.build = {op::DeviceNode{"/etc/passwd"}};
  const auto regular = check_devices(plan);
  ASSERT_FALSE(regular.has_value());
  EXPECT_THAT(regular.error().what,
              HasSubstr("/etc/passwd of this host is not a device but a regular file"));
  plan.build = {op::LandlockAllow{"/etc/passwd", LandlockUse::Device, FileKind::Regular}};
  EXPECT_FALSE(check_devices(plan).has_value());
  plan.build = {op::LandlockAllow{"/etc/passwd", LandlockUse::Read, FileKind::Regular}};
  EXPECT_TRUE(check_devices(plan).has_value());
}

TEST(OddHost, AnAbsentDeviceIsRefusedUnlessItMayBeLeftOut) {
  Plan plan;
  plan.build = {op::DeviceNode{"/nonexistent/null"}};
  EXPECT_FALSE(check_devices(plan).has_value());
  plan.build = {
      op::LandlockAllow{"/nonexistent/null", LandlockUse::Device, FileKind::Regular, {}, true}};
  EXPECT_TRUE(check_devices(plan).has_value());
}

TEST(OddHost, ALimitOfOpenFilesThatIsTooLowIsNamedWithTheNumber) {
  Plan plan;
  EXPECT_TRUE(check_open_files(plan).has_value());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto refused = check_open_files(plan);
  plan.build = {op::Bind{"/a", "/a", MountAccess::ReadOnly, FileKind::Regular, {1, 2}}};
  const auto with_a_pin = check_open_files(plan);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().what, HasSubstr("ulimit -n is 64, and 96 are needed"));
  ASSERT_FALSE(with_a_pin.has_value());
  EXPECT_THAT(with_a_pin.error().what, HasSubstr("97 are needed"));
}

}  // namespace
}  // namespace cordon::native
