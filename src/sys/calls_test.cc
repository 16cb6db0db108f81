#include "sys/calls.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fd.h"

namespace cordon::sys {
namespace {

TEST(ProcessOf, IsWhoThePidfdHoldsUntilItIsReaped) {
  const CloneResult child = clone_process(0, -1);
  if (child.pid == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_GT(child.pid, 0);
  const Fd pidfd(child.pidfd);
  EXPECT_EQ(process_of(pidfd.get()), child.pid);
  ASSERT_EQ(pidfd_send_signal(pidfd.get(), SIGKILL), 0);
  ASSERT_EQ(::waitpid(child.pid, nullptr, 0), child.pid);
  EXPECT_LT(process_of(pidfd.get()), 0);
}

TEST(ProcessOf, IsNobodyOfAnotherDescriptor) {
  EXPECT_LT(process_of(STDIN_FILENO), 0);
  EXPECT_LT(process_of(-1), 0);
}

// The command's process shares errno with the first process while that reads the mounts back.
TEST(ReadingMountsBack, TellsFailuresWithoutErrno) {
  constexpr int kOfAnother = 1234;
  FileStatus file{};
  MountStatus mount{};
  errno = kOfAnother;
  EXPECT_EQ(status_at("/proc/absent", file), -ENOENT);
  EXPECT_EQ(link_status_at("/proc/absent", file), -ENOENT);
  EXPECT_EQ(mount_status("/proc/absent", mount), -ENOENT);
  EXPECT_FALSE(is_mount_root("/proc/absent"));
  EXPECT_FALSE(may_write("/proc/absent"));
  EXPECT_EQ(errno, kOfAnother);
}

TEST(ReadingMountsBack, TellsWhatIsThere) {
  FileStatus file{};
  FileStatus link{};
  MountStatus mount{};
  ASSERT_EQ(status_at("/proc/self", file), 0);
  ASSERT_EQ(link_status_at("/proc/self", link), 0);
  EXPECT_TRUE(S_ISDIR(file.mode));
  EXPECT_TRUE(S_ISLNK(link.mode));
  ASSERT_EQ(mount_status("/proc", mount), 0);
  EXPECT_EQ(mount.type, kProcMagic);
  EXPECT_TRUE(is_mount_root("/proc"));
  EXPECT_FALSE(is_mount_root("/proc/self"));
  EXPECT_TRUE(may_write("/dev/null"));
}

}  // namespace
}  // namespace cordon::sys
