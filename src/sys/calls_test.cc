#include "sys/calls.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace cordon::sys
