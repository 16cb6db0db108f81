#include "sys/notify.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <thread>

#include "base/fd.h"

namespace cordon::sys {
namespace {

// A thread that lives while it is looked at.
class Other {
 public:
  explicit Other(bool own_descriptors)
      : thread_([this, own_descriptors] {
          if (own_descriptors) {
            ASSERT_EQ(::unshare(CLONE_FILES), 0);
          }
          number_.set_value(static_cast<pid_t>(::syscall(SYS_gettid)));
          over_.get_future().wait();
        }) {}
  ~Other() {
    over_.set_value();
    thread_.join();
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  pid_t number() { return number_.get_future().get(); }

 private:
  std::promise<pid_t> number_;
  std::promise<void> over_;
  std::thread thread_;
};

bool reaches_this_table(int pidfd) {
  const Fd original(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd copy(copy_descriptor(pidfd, original.get()));
  struct stat a {};
  struct stat b {};
  return copy.get() >= 0 && ::fstat(original.get(), &a) == 0 && ::fstat(copy.get(), &b) == 0 &&
         a.st_ino == b.st_ino;
}

TEST(Notify, AThreadsGroupServesWhereTheyShareDescriptors) {
  Other other(false);
  const Fd pidfd(open_thread_by_group(other.number()));
  ASSERT_GE(pidfd.get(), 0);
  EXPECT_TRUE(reaches_this_table(pidfd.get()));
  const Fd leader(open_thread_by_group(::getpid()));
  ASSERT_GE(leader.get(), 0);
  EXPECT_TRUE(reaches_this_table(leader.get()));
}

TEST(Notify, AThreadWithDescriptorsOfItsOwnIsNotTakenForItsGroup) {
  Other other(true);
  EXPECT_EQ(open_thread_by_group(other.number()), -EPERM);
}

TEST(Notify, WhatIsNoListenerIsNotTakenForOne) {
  const Fd file(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(is_listener(file.get()));
  EXPECT_FALSE(is_listener(socket.get()));
  EXPECT_FALSE(is_listener(-1));
}

TEST(Notify, SocketsOfOneNetworkSaySo) {
  const Fd one(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Fd two(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(network_of(one.get()));
  EXPECT_EQ(network_of(one.get()), network_of(two.get()));
  EXPECT_FALSE(network_of(-1));
}

TEST(Notify, MemoryIsReadAsFarAsItIsThere) {
  const char text[] = "text";
  char copy[sizeof text] = {};
  EXPECT_EQ(read_memory(::getpid(), reinterpret_cast<std::uintptr_t>(text), copy, sizeof copy),
            static_cast<ssize_t>(sizeof copy));
  EXPECT_STREQ(copy, text);
  EXPECT_EQ(read_memory(::getpid(), 8, copy, sizeof copy), -EFAULT);
}

}  // namespace
}  // namespace cordon::sys
