// The compiled filter in the running kernel. Every attempt is made twice, in a child without the
// filter and in one with it: a refusal counts only if the kernel alone answers otherwise. Attempts
// carry arguments that make them harmless where nothing contains them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "sandbox/native/seccomp_filter.h"

namespace cordon {
namespace {

constexpr int kMptcp = 262;
constexpr int kNoProtocol = 300;  // EINVAL, before the kernel asks for a capability
constexpr int kInstallFailed = 250;
constexpr int kAttemptDone = 0;

struct Attempt {
  const char* what;
  long (*act)();
  int with_filter;  // errno; 0 for success
};

template <typename... Arguments>
long raw(const char* name, Arguments... arguments) {
  return syscall(*find_syscall(name)->number(native_arch()), arguments...);
}

const char* nowhere() { return "/nonexistent/cordon"; }

// Refused with EPERM, or answered as absent, whoever asks.
const Attempt kRefusals[] = {
    {"unshare a user namespace", [] { return raw("unshare", CLONE_NEWUSER); }, EPERM},
    {"clone into a user namespace",
     [] {
       const long child = raw("clone", CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
       if (child == 0) _exit(0);
       return child;
     },
     EPERM},
    {"clone3", [] { return raw("clone3", nullptr, 0); }, ENOSYS},
    {"setns", [] { return raw("setns", -1, 0); }, EPERM},
    {"ptrace", [] { return raw("ptrace", PTRACE_TRACEME, 0, 0, 0); }, EPERM},
    {"read a process's memory",
     [] { return raw("process_vm_readv", getpid(), nullptr, 0, nullptr, 0, 0); }, EPERM},
    {"write a process's memory",
     [] { return raw("process_vm_writev", getpid(), nullptr, 0, nullptr, 0, 0); }, EPERM},
    {"take a descriptor", [] { return raw("pidfd_getfd", -1, 0, 0); }, EPERM},
    {"mount", [] { return raw("mount", "x", nowhere(), "tmpfs", 0, nullptr); }, EPERM},
    {"unmount", [] { return raw("umount2", nowhere(), ~0); }, EPERM},
    {"open a mount tree", [] { return raw("open_tree", -1, "x", 0); }, EPERM},
    {"change a mount", [] { return raw("mount_setattr", -1, "", ~0, nullptr, 0); }, EPERM},
    {"chroot", [] { return raw("chroot", nowhere()); }, EPERM},
    {"make a file handle", [] { return raw("name_to_handle_at", -1, "x", nullptr, nullptr, 0); },
     EPERM},
    {"bpf", [] { return raw("bpf", 0, nullptr, 1 << 20); }, EPERM},
    {"perf_event_open", [] { return raw("perf_event_open", nullptr, 0, -1, -1, 0); }, EPERM},
    {"userfaultfd", [] { return raw("userfaultfd", 1); }, EPERM},
    {"io_uring_setup", [] { return raw("io_uring_setup", 0, nullptr); }, ENOSYS},
    {"io_setup", [] { return raw("io_setup", 0, nullptr); }, ENOSYS},
    {"keyctl", [] { return raw("keyctl", 0, -3, 0); }, EPERM},
    {"add_key", [] { return raw("add_key", nullptr, nullptr, nullptr, 0, 0); }, EPERM},
    {"request_key", [] { return raw("request_key", nullptr, nullptr, nullptr, 0); }, EPERM},
    {"set a clock", [] { return raw("clock_settime", 99, nullptr); }, EPERM},
    {"read and adjust a clock", [] { return raw("clock_adjtime", 99, nullptr); }, EPERM},
    {"move pages", [] { return raw("move_pages", 0, 0, nullptr, nullptr, nullptr, ~0); }, EPERM},
    {"quota", [] { return raw("quotactl", ~0, nullptr, 0, nullptr); }, EPERM},
    {"make a device", [] { return raw("mknodat", -1, "x", S_IFCHR | 0600, 0); }, EPERM},
    {"TIOCSTI", [] { return raw("ioctl", -1, TIOCSTI, ""); }, EPERM},
    {"TIOCSTI with a high bit", [] { return raw("ioctl", -1, TIOCSTI | 1L << 32, ""); }, EPERM},
    {"executable data", [] { return raw("personality", READ_IMPLIES_EXEC); }, EPERM},
    {"a Unix socket", [] { return raw("socket", AF_UNIX, SOCK_STREAM, 0); }, EPERM},
    {"an MPTCP socket", [] { return raw("socket", AF_INET, SOCK_STREAM, kMptcp); }, EPERM},
    {"a raw socket", [] { return raw("socket", AF_INET, SOCK_RAW, kNoProtocol); }, EPERM},
    {"a packet socket", [] { return raw("socket", AF_PACKET, SOCK_RAW, 0); }, EAFNOSUPPORT},
    {"uevents", [] { return raw("socket", AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT); },
     EPERM},
    {"a datagram pair",
     [] {
       int ends[2];
       return raw("socketpair", AF_UNIX, SOCK_DGRAM, 0, ends);
     },
     EPERM},
    {"Fast Open", [] { return raw("sendto", -1, "", 0, MSG_FASTOPEN, nullptr, 0); }, EPERM},
    {"the Fast Open option", [] { return raw("setsockopt", -1, 6, 30, nullptr, 0); }, EPERM},
    {"binding to an interface", [] { return raw("setsockopt", -1, 1, 25, nullptr, 0); }, EPERM},
    {"PR_SET_MM", [] { return raw("prctl", 35, 0, 0, 0, 1); }, EPERM},
    {"PR_SET_PTRACER", [] { return raw("prctl", 0x59616d61, 1, 0, 0, 0); }, EPERM},
    {"a filter with a listener",
     [] { return raw("seccomp", 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, nullptr); }, EPERM},
};

// What ordinary programs do; the same with and without the filter.
const Attempt kOrdinary[] = {
    {"getpid", [] { return raw("getpid"); }, 0},
    {"open", [] { return raw("openat", AT_FDCWD, "/dev/null", O_RDWR, 0); }, 0},
    {"fork and wait",
     [] {
       const pid_t child = fork();
       if (child == 0) _exit(7);
       int status = 0;
       if (waitpid(child, &status, 0) != child) return -1L;
       return WEXITSTATUS(status) == 7 ? 0L : -1L;
     },
     0},
    {"map code",
     [] { return raw("mmap", 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
     0},
    {"memfd_create", [] { return raw("memfd_create", "x", 0); }, 0},
    {"a TCP socket", [] { return raw("socket", AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }, 0},
    {"a UDP socket", [] { return raw("socket", AF_INET, SOCK_DGRAM, IPPROTO_UDP); }, 0},
    {"routes", [] { return raw("socket", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE); }, 0},
    {"a stream pair",
     [] {
       int ends[2];
       return raw("socketpair", AF_UNIX, SOCK_STREAM, 0, ends);
     },
     0},
    {"name a thread", [] { return raw("prctl", PR_SET_NAME, "x", 0, 0, 0); }, 0},
    {"query the personality", [] { return raw("personality", 0xffffffff); }, 0},
    {"a timer", [] { return raw("timerfd_create", 1, 0); }, 0},
    {"epoll", [] { return raw("epoll_create1", 0); }, 0},
    {"a plain message", [] { return raw("sendto", -1, "", 0, MSG_NOSIGNAL, nullptr, 0); }, EBADF},
    {"a plain option", [] { return raw("setsockopt", -1, 6, 1, nullptr, 0); }, EBADF},
    {"a plain ioctl", [] { return raw("ioctl", -1, TCGETS, nullptr); }, EBADF},
    {"a fifo", [] { return raw("mknodat", -1, "x", S_IFIFO | 0600, 0); }, EBADF},
    {"a filter of one's own", [] { return raw("seccomp", 1, 0, nullptr); }, EFAULT},
    {"landlock", [] { return raw("landlock_create_ruleset", nullptr, 0, 1); }, 0},
    {"a number nobody knows", [] { return syscall(600); }, ENOSYS},
};

enum class Filter { Off, On };

bool install(NetMode net) {
  auto program = compile_filter(native_arch(), {net});
  sock_fprog described = {static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &described) == 0;
}

// The errno of one attempt in a child of its own, as its exit status; none if the child died or
// could not install the filter.
std::optional<int> attempt(const Attempt& tried, Filter filter, NetMode net) {
  const pid_t child = fork();
  if (child == 0) {
    if (filter == Filter::On && !install(net)) _exit(kInstallFailed);
    errno = 0;
    _exit(tried.act() == -1 ? errno : kAttemptDone);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return std::nullopt;
  if (WEXITSTATUS(status) == kInstallFailed) return std::nullopt;
  return WEXITSTATUS(status);
}

class KernelFilter : public ::testing::TestWithParam<NetMode> {};

TEST_P(KernelFilter, RefusesWhatTheKernelAloneWouldTake) {
  for (const Attempt& tried : kRefusals) {
    const auto alone = attempt(tried, Filter::Off, GetParam());
    ASSERT_TRUE(alone.has_value()) << tried.what;
    EXPECT_NE(*alone, tried.with_filter) << tried.what;
    EXPECT_EQ(attempt(tried, Filter::On, GetParam()), tried.with_filter) << tried.what;
  }
}

TEST_P(KernelFilter, LeavesOrdinaryCallsAsTheyAre) {
  for (const Attempt& tried : kOrdinary) {
    EXPECT_EQ(attempt(tried, Filter::Off, GetParam()), tried.with_filter) << tried.what;
    EXPECT_EQ(attempt(tried, Filter::On, GetParam()), tried.with_filter) << tried.what;
  }
}

TEST_P(KernelFilter, LetsAProgramBeLoadedAndRun) {
  const Attempt load = {
      "a shell",
      [] {
        const char* const argv[] = {"sh", "-c", "ls / | wc -l >/dev/null; exit 9", nullptr};
        return static_cast<long>(execv("/bin/sh", const_cast<char**>(argv)));
      },
      0};
  EXPECT_EQ(attempt(load, Filter::Off, GetParam()), 9);
  EXPECT_EQ(attempt(load, Filter::On, GetParam()), 9);
}

TEST_P(KernelFilter, HoldsAcrossExec) {
  const Attempt load = {
      "unshare under a new program",
      [] {
        close(STDERR_FILENO);
        const char* const argv[] = {"unshare", "-U", "true", nullptr};
        return static_cast<long>(execv("/usr/bin/unshare", const_cast<char**>(argv)));
      },
      0};
  EXPECT_EQ(attempt(load, Filter::Off, GetParam()), 0);
  EXPECT_EQ(attempt(load, Filter::On, GetParam()), 1);
}

INSTANTIATE_TEST_SUITE_P(Seccomp, KernelFilter, ::testing::Values(NetMode::None, NetMode::Open),
                         [](const auto& tested) {
                           return tested.param == NetMode::None ? "NetNone" : "NetOpen";
                         });

#if defined(__x86_64__)
TEST(SeccompKernel, KillsAnX32Call) {
  const pid_t child = fork();
  if (child == 0) {
    if (!install(NetMode::None)) _exit(kInstallFailed);
    syscall(0x40000000 | 39);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}
#endif

}  // namespace
}  // namespace cordon
