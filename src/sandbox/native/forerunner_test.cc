#include "sandbox/native/forerunner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/native/native_backend.h"
#include "sandbox/native/process_status.h"

namespace cordon::native {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

TEST(Forerunner, IsNotSentWhereMemoryCannotBeShared) { EXPECT_EQ(Forerunner::send(), nullptr); }

#else

// What an init tells of itself, through a pipe.
struct Told {
  pid_t process;
  pid_t parent;
  NamespaceIds namespaces;
  bool loopback_up;
  char word[16];
};

struct Asked {
  int pipe;
  char word[16];
};

bool loopback_is_up() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  return ::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

void tell_and_end(const void* argument) {
  const auto* asked = static_cast<const Asked*>(argument);
  Told told{::getpid(), ::getppid(), own_namespaces(), loopback_is_up(), {}};
  std::memcpy(told.word, asked->word, sizeof told.word);
  ::_exit(::write(asked->pipe, &told, sizeof told) == sizeof told ? 7 : 8);
}

// What its init told, which it reaps; nothing if there was none.
std::optional<Told> follow(Forerunner& forerunner, const char* word) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return std::nullopt;
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  Asked asked{writing.get(), {}};
  std::strncpy(asked.word, word, sizeof asked.word - 1);
  const SignalsBlocked blocked;
  const sys::CloneResult init = forerunner.follow(-1, tell_and_end, &asked);
  writing.reset();
  if (init.pid <= 0) return std::nullopt;
  const Fd held(init.pidfd);
  Told told{};
  const bool heard = ::read(reading.get(), &told, sizeof told) == sizeof told;
  sys::ProcessUsage usage;
  const bool reaped = sys::wait_pidfd(held.get(), usage) == 0;
  return heard && reaped ? std::optional(told) : std::nullopt;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::vector<std::string> open_descriptors() {
  std::vector<std::string> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    open.push_back(entry.path().filename());
  return open;
}

// The only child of this thread; zero if there is none.
pid_t only_child() {
  pid_t child = 0;
  std::ifstream("/proc/thread-self/children") >> child;
  return child;
}

TEST(Forerunner, IsFollowedByAPidOneInNamespacesOfItsOwn) {
  const NamespaceIds outside = own_namespaces();
  const auto forerunner = Forerunner::send();
  ASSERT_NE(forerunner, nullptr);
  // The word was not there yet when it was sent.
  const auto told = follow(*forerunner, "later");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->process, 1);
  EXPECT_EQ(told->parent, 0);
  EXPECT_STREQ(told->word, "later");
  EXPECT_TRUE(told->loopback_up);
  for (std::size_t i = 0; i < outside.size(); ++i) {
    EXPECT_NE(told->namespaces[i], 0U) << i;
    EXPECT_NE(told->namespaces[i], outside[i]) << i;
  }
  EXPECT_EQ(own_namespaces(), outside);
  EXPECT_FALSE(has_children());
  EXPECT_FALSE(follow(*forerunner, "again"));
}

TEST(Forerunner, LeavesNothingWhereNobodyFollows) {
  const auto before = open_descriptors();
  {
    const auto forerunner = Forerunner::send();
    ASSERT_NE(forerunner, nullptr);
    EXPECT_TRUE(has_children());
  }
  EXPECT_FALSE(has_children());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Forerunner, IsNotWaitedForOnceItWasKilled) {
  const auto forerunner = Forerunner::send();
  ASSERT_NE(forerunner, nullptr);
  const pid_t process = only_child();
  ASSERT_GT(process, 0);
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  EXPECT_FALSE(follow(*forerunner, "nobody"));
  EXPECT_FALSE(has_children());
}

TEST(Forerunner, EndsWithWhoSentIt) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const pid_t sender = ::fork();
  if (sender == 0) {
    const auto forerunner = Forerunner::send();
    const pid_t process = only_child();
    if (::write(writing.get(), &process, sizeof process) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  pid_t process = 0;
  ASSERT_EQ(::read(reading.get(), &process, sizeof process), sizeof process);
  EXPECT_GT(process, 0);
  ASSERT_EQ(::kill(sender, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(sender, &status, 0), sender);
  pid_t ended = 0;
  for (int i = 0; i < 60'000 && ended == 0; ++i) {
    ended = ::waitpid(process, &status, WNOHANG);
    if (ended == 0) ::usleep(1000);
  }
  EXPECT_EQ(ended, process);
  if (ended == 0) ::kill(process, SIGKILL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

TEST(Forerunner, BelongsToTheRunThatSentIt) {
  std::vector<std::thread> runs;
  std::vector<std::optional<Told> > told(6);
  for (std::size_t i = 0; i < told.size(); ++i) {
    runs.emplace_back([&told, i] {
      const auto forerunner = Forerunner::send();
      if (forerunner) told[i] = follow(*forerunner, std::to_string(i).c_str());
    });
  }
  for (std::thread& run : runs) run.join();
  for (std::size_t i = 0; i < told.size(); ++i) {
    ASSERT_TRUE(told[i]) << i;
    EXPECT_EQ(told[i]->process, 1);
    EXPECT_EQ(told[i]->word, std::to_string(i));
  }
  EXPECT_FALSE(has_children());
}

#endif

}  // namespace
}  // namespace cordon::native
