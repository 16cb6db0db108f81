// The filter of a list, asked for every number on both architectures.
#include "sandbox/native/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <string>

#include "support/bpf_interpreter.h"

namespace cordon {
namespace {

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kPermission = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kNotThere = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
constexpr int kPastLastNumber = 1200;

std::uint32_t token(Arch arch) {
  return arch == Arch::Aarch64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64;
}

std::vector<KnownSyscall> named(const std::vector<std::string>& names) {
  std::vector<KnownSyscall> calls;
  calls.reserve(names.size());
  for (const std::string& name : names) calls.push_back(*find_syscall(name));
  return calls;
}

class Asked {
 public:
  Asked(Arch arch, const std::vector<KnownSyscall>& calls, ListedSockets sockets)
      : arch_(arch), interpreter_(compile_listed_filter(arch, calls, sockets)) {}

  std::uint32_t number(int number, std::uint64_t first = 0, std::uint64_t second = 0,
                       std::uint64_t third = 0) {
    seccomp_data data{};
    data.arch = token(arch_);
    data.nr = number;
    data.args[0] = first;
    data.args[1] = second;
    data.args[2] = third;
    return interpreter_.run(data).value_or(0xdead);
  }
  std::uint32_t name(std::string_view name, std::uint64_t first = 0, std::uint64_t second = 0,
                     std::uint64_t third = 0) {
    return number(*find_syscall(name)->number(arch_), first, second, third);
  }
  std::uint32_t foreign(std::uint32_t architecture, int number) {
    seccomp_data data{};
    data.arch = architecture;
    data.nr = number;
    return interpreter_.run(data).value_or(0xdead);
  }

 private:
  Arch arch_;
  BpfInterpreter interpreter_;
};

constexpr Arch kArches[] = {Arch::Aarch64, Arch::X86_64};

TEST(ListedFilter, AllowsWhatIsListedAndKillsTheRest) {
  const auto calls = named({"read", "write", "execve", "exit_group", "futex", "statx"});
  for (const Arch arch : kArches) {
    Asked asked(arch, calls, ListedSockets::None);
    std::set<int> listed;
    for (const KnownSyscall& call : calls) listed.insert(*call.number(arch));
    for (int number = 0; number < kPastLastNumber; ++number) {
      EXPECT_EQ(asked.number(number), listed.contains(number) ? kAllow : kKill)
          << name_of(arch) << " " << number;
    }
    EXPECT_EQ(asked.number(-1), kKill);
  }
}

// jumps of eight bits do not carry over so many comparisons. With every second call no two
// make a range; with all of them the list is as long as a policy may be.
TEST(ListedFilter, HoldsForAsManyNamesAsAPolicyMayHold) {
  for (const Arch arch : kArches) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}}) {
      std::vector<KnownSyscall> calls;
      std::set<int> listed;
      std::size_t seen = 0;
      for (int number = 0; number < kPastLastNumber && calls.size() < 256; ++number) {
        const auto name = syscall_name(arch, number);
        const auto call = name ? find_syscall(*name) : std::nullopt;
        const bool plain =
            call && call->standing == Standing::Open &&
            (call->decision == Decision::Allow || call->decision == Decision::Refuse);
        if (!plain || seen++ % step != 0) continue;
        calls.push_back(*call);
        listed.insert(number);
      }
      ASSERT_GT(calls.size(), 200U / step);
      Asked asked(arch, calls, ListedSockets::None);
      for (int number = 0; number < kPastLastNumber; ++number) {
        EXPECT_EQ(asked.number(number), listed.contains(number) ? kAllow : kKill) << number;
      }
    }
  }
}

TEST(ListedFilter, KillsOtherArchitectures) {
  for (const Arch arch : kArches) {
    Asked asked(arch, named({"read", "execve"}), ListedSockets::None);
    const int read = *find_syscall("read")->number(arch);
    ASSERT_EQ(asked.number(read), kAllow);
    for (const std::uint32_t other : std::initializer_list<std::uint32_t>{
             AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, 0}) {
      EXPECT_EQ(asked.foreign(other, read), kKill);
    }
    EXPECT_EQ(asked.foreign(arch == Arch::Aarch64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, read),
              kKill);
    EXPECT_EQ(asked.number(read | 0x40000000), kKill);
  }
}

TEST(ListedFilter, LooksAtTheArgumentsOfListedCalls) {
  const auto calls = named({"execve", "clone", "ioctl", "socket", "socketpair", "fchmod", "prctl",
                            "mknodat", "seccomp", "personality"});
  for (const Arch arch : kArches) {
    Asked asked(arch, calls, ListedSockets::Internet);
    EXPECT_EQ(asked.name("clone", SIGCHLD), kAllow);
    EXPECT_EQ(asked.name("clone", CLONE_NEWUSER | SIGCHLD), kPermission);
    EXPECT_EQ(asked.name("ioctl", 0, TCGETS), kAllow);
    EXPECT_EQ(asked.name("ioctl", 0, TIOCSTI), kPermission);
    EXPECT_EQ(asked.name("ioctl", 0, TIOCSTI | (std::uint64_t{1} << 32U)), kPermission);
    EXPECT_EQ(asked.name("fchmod", 0, 0755), kAllow);
    EXPECT_EQ(asked.name("fchmod", 0, 04755), kPermission);
    EXPECT_EQ(asked.name("socket", AF_INET, SOCK_STREAM), kAllow);
    EXPECT_EQ(asked.name("socket", AF_INET, SOCK_RAW), kPermission);
    EXPECT_EQ(asked.name("socket", AF_UNIX, SOCK_STREAM), kPermission);
    EXPECT_EQ(asked.name("socket", AF_PACKET, SOCK_RAW), kFamily);
    EXPECT_EQ(asked.name("socketpair", AF_UNIX, SOCK_STREAM), kAllow);
    EXPECT_EQ(asked.name("mknodat", 0, 0, S_IFCHR | 0600), kPermission);
    EXPECT_EQ(asked.name("mknodat", 0, 0, S_IFIFO | 0600), kAllow);
    EXPECT_EQ(asked.name("seccomp", SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER),
              kPermission);
  }
}

TEST(ListedFilter, WithoutANetworkThereIsNoSocket) {
  for (const Arch arch : kArches) {
    Asked asked(arch, named({"execve", "socket", "socketpair"}), ListedSockets::None);
    for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET, AF_VSOCK}) {
      EXPECT_EQ(asked.name("socket", static_cast<std::uint64_t>(family), SOCK_STREAM), kFamily);
    }
    EXPECT_EQ(asked.name("socketpair", AF_UNIX, SOCK_STREAM), kAllow);
  }
}

TEST(ListedFilter, PermitsNothingThatNoPolicyMayList) {
  std::vector<KnownSyscall> never;
  for (const KnownSyscall& call : known_syscalls()) {
    if (call.standing == Standing::Never) never.push_back(call);
  }
  ASSERT_GT(never.size(), 50U);
  for (const Arch arch : kArches) {
    Asked asked(arch, never, ListedSockets::Internet);
    for (const KnownSyscall& call : never) {
      if (!call.number(arch)) continue;
      const std::uint32_t answer = call.decision == Decision::Absent ? kNotThere : kPermission;
      EXPECT_EQ(asked.name(call.name), answer) << call.name;
    }
  }
}

}  // namespace
}  // namespace cordon
