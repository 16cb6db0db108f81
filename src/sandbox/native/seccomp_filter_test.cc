// The compiled program against a second statement of the rules, over every number and the
// arguments that matter, for both architectures and every network mode.
#include "sandbox/native/seccomp_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "support/bpf_interpreter.h"
#include "support/filter_calls.h"
#include "sys/path_calls.h"

namespace cordon {
namespace {

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kPermission = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kNotThere = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::uint32_t kBroker = SECCOMP_RET_USER_NOTIF;
constexpr std::uint32_t kFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;

constexpr Arch kArches[] = {Arch::Aarch64, Arch::X86_64};
std::uint32_t permit(bool allowed) { return allowed ? kAllow : kPermission; }

std::uint32_t expected_socket(std::uint32_t family, std::uint32_t type, std::uint32_t protocol,
                              const FilterProfile& profile) {
  const std::uint32_t base = type % 16;
  if (family == AF_UNIX) {
    return permit(profile.has_broker() && (base == SOCK_STREAM || base == SOCK_SEQPACKET));
  }
  if (family == AF_NETLINK) return permit(protocol == 0);
  if (family != AF_INET && family != AF_INET6) return kFamily;
  if (base != SOCK_STREAM && base != SOCK_DGRAM) return kPermission;
  if (protocol == 0 || protocol == 6 || protocol == 17) return kAllow;
  return permit(profile.net == NetMode::Open && (protocol == 1 || protocol == 58));
}

std::uint32_t expected_prctl(std::uint32_t option, std::uint32_t second) {
  static const std::set<std::uint32_t> refused = {0,  35, 48, 49, 57, 58, 59, 62,
                                                  67, 68, 69, 70, 71, 72, 73};
  if (option == 22) return permit(second == 2);
  if (option == 0x53564d41 || option == 0x41555856) return kAllow;
  return permit(option <= 76 && !refused.contains(option));
}

// The answer to the calls that are judged by argument; none for the others.
std::optional<std::uint32_t> expected_by_argument(std::string_view name, const Arguments& given,
                                                  const FilterProfile& profile) {
  const NetMode net = profile.net;
  std::array<std::uint32_t, 4> low{};
  for (std::size_t i = 0; i < low.size(); ++i) low[i] = static_cast<std::uint32_t>(given[i]);
  const auto node = [](std::uint32_t mode) {
    const std::uint32_t kind = mode & S_IFMT;
    if ((mode & 06000) != 0) return kPermission;
    return permit(kind == 0 || S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode));
  };
  if (name == "clone") {
    const std::uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    return permit((low[0] & namespaces) == 0);
  }
  if (name == "connect" || name == "bind") return profile.has_broker() ? kBroker : kAllow;
  if (name == "listen") return net == NetMode::Allow ? kBroker : kAllow;
  if (name == "rename" || name == "renameat" || name == "renameat2") {
    return profile.staged && profile.has_broker() ? kBroker : kAllow;
  }
  if (name == "ioctl") {
    if (net == NetMode::Allow && low[1] >= 0x8910 && low[1] <= 0x89ff) return kPermission;
    return permit(low[1] != TIOCSTI && low[1] != TIOCLINUX && low[1] != TIOCCONS &&
                  low[1] != TIOCSETD);
  }
  if (name == "chmod" || name == "fchmod" || name == "creat") return permit((low[1] & 06000) == 0);
  if (name == "fchmodat" || name == "fchmodat2") return permit((low[2] & 06000) == 0);
  const auto opens = [](std::uint32_t flags, std::uint32_t mode) {
    return permit((flags & (0100 | 020000000)) == 0 || (mode & 06000) == 0);
  };
  if (name == "open") return opens(low[1], low[2]);
  if (name == "openat") return opens(low[2], low[3]);
  if (name == "mknod") return node(low[1]);
  if (name == "mknodat") return node(low[2]);
  if (name == "personality") {
    return permit((low[0] & ~0x20008u) == 0 || low[0] == 0x40000 || low[0] == 0xffffffff);
  }
  if (name == "prctl") return expected_prctl(low[0], low[1]);
  if (name == "seccomp") return permit(low[0] < 4 && !(low[0] == 1 && (low[1] & 8) != 0));
  if (name == "sendto") {
    // Every call is made with a fifth argument, which of this one is an address.
    if ((low[3] & MSG_FASTOPEN) != 0) return kPermission;
    return profile.has_broker() && net != NetMode::Open ? kBroker : kAllow;
  }
  if (name == "sendmmsg") return permit((low[3] & MSG_FASTOPEN) == 0);
  if (name == "sendmsg") return permit((low[2] & MSG_FASTOPEN) == 0);
  if (name == "setsockopt") {
    static const std::set<std::uint32_t> four = {1,  2,  8,  10, 11, 12, 13, 14,
                                                 15, 24, 32, 33, 34, 49, 51};
    static const std::set<std::uint32_t> six = {16, 17, 18, 19, 23, 24, 25, 26,
                                                49, 51, 62, 66, 67, 72, 73, 78};
    if (net == NetMode::Allow && low[1] == 0) return permit(four.contains(low[2]));
    if (net == NetMode::Allow && low[1] == 41) return permit(six.contains(low[2]));
    if (low[1] == 6) return permit(low[2] != 23 && low[2] != 30 && low[2] != 33);
    return permit(!(low[1] == 1 && (low[2] == 25 || low[2] == 62)));
  }
  if (name == "fcntl") return permit(low[1] != F_SETLEASE);
  if (name == "prlimit64" || name.starts_with("sched_set")) return permit(low[0] != 1);
  if (name == "setpriority") return permit(low[0] < 2 && low[1] != 1);
  if (name == "ioprio_set") return permit((low[0] == 1 || low[0] == 2) && low[1] != 1);
  if (name == "socket") return expected_socket(low[0], low[1], low[2], profile);
  if (name == "socketpair") {
    if (low[0] != AF_UNIX) return kFamily;
    return permit(low[1] % 16 == SOCK_STREAM || low[1] % 16 == SOCK_SEQPACKET);
  }
  return std::nullopt;
}

std::uint32_t expected_unwatched(Arch arch, std::uint32_t number, const Arguments& arguments,
                                 const FilterProfile& profile) {
  if (arch == Arch::X86_64 && (number & 0x40000000) != 0 && number != 0xffffffff) return kKill;
  const auto name = syscall_name(arch, static_cast<int>(number));
  if (!name) return kNotThere;
  if (const auto judged = expected_by_argument(*name, arguments, profile)) return *judged;
  const Decision decision = find_syscall(*name)->decision;
  if (decision == Decision::Allow) return kAllow;
  if (decision == Decision::Absent) return kNotThere;
  EXPECT_EQ(decision, Decision::Refuse) << *name << " has a rule this test does not state";
  return kPermission;
}

// Of a watched run the supervisor sees what takes a path and would be allowed, and nothing else.
std::uint32_t expected(Arch arch, std::uint32_t number, const Arguments& arguments,
                       const FilterProfile& profile) {
  const std::uint32_t answer = expected_unwatched(arch, number, arguments, profile);
  const auto name = syscall_name(arch, static_cast<int>(number));
  if (answer != kAllow || !profile.watched || !profile.has_broker() || !name) return answer;
  const auto calls = sys::path_calls();
  return std::ranges::find(calls, *name, &sys::PathCall::name) != calls.end() ? kBroker : answer;
}

class Matrix : public ::testing::TestWithParam<std::tuple<Arch, FilterProfile>> {};

// Runs one call and once more with noise in the high halves, which the kernel ignores.
::testing::AssertionResult agrees(BpfInterpreter& filter, Arch arch, const FilterProfile& profile,
                                  std::uint32_t number, const Arguments& arguments) {
  const std::uint32_t wanted = expected(arch, number, arguments, profile);
  for (std::uint64_t noise : {std::uint64_t{0}, std::uint64_t{0xdeadbeef} << 32}) {
    Arguments noisy = arguments;
    for (std::uint64_t& argument : noisy) argument |= noise;
    const auto answer = filter.run(call(token(arch), number, noisy));
    if (answer == wanted) continue;
    return ::testing::AssertionFailure()
           << "number " << number << " (" << arguments[0] << ", " << arguments[1] << ", "
           << arguments[2] << ", " << arguments[3] << "): " << answer.value_or(0) << ", wanted "
           << wanted;
  }
  return ::testing::AssertionSuccess();
}

void try_every_argument(BpfInterpreter& filter, Arch arch, const FilterProfile& profile) {
  for (const auto& [name, values] : interesting()) {
    const auto number = find_syscall(name)->number(arch);
    if (!number) continue;
    for (auto first : values[0]) {
      for (auto second : values[1]) {
        for (auto third : values[2]) {
          for (auto fourth : values[3]) {
            ASSERT_TRUE(agrees(filter, arch, profile, static_cast<std::uint32_t>(*number),
                               {first, second, third, fourth}))
                << name;
          }
        }
      }
    }
  }
}

TEST_P(Matrix, AnswersEveryNumberAndArgumentAsTheRulesSayAndHasNoDeadStep) {
  const auto [arch, profile] = GetParam();
  BpfInterpreter filter(compile_filter(arch, profile));
  for (std::uint32_t number = 0; number < kNumbers; ++number) {
    for (const Arguments& arguments : kUsualArguments) {
      for (std::uint32_t high : {0u, 0x40000000u, 0x80000000u, 0xc0000000u}) {
        ASSERT_TRUE(agrees(filter, arch, profile, number | high, arguments));
      }
    }
  }
  for (std::uint32_t number : kOddNumbers) {
    ASSERT_TRUE(agrees(filter, arch, profile, number, {}));
  }
  try_every_argument(filter, arch, profile);
  EXPECT_EQ(filter.run(call(0, 0)), kKill);
  // The one call that had an address everywhere above.
  const auto sendto = static_cast<std::uint32_t>(*find_syscall("sendto")->number(arch));
  seccomp_data connected = call(token(arch), sendto);
  connected.args[4] = 0;
  EXPECT_EQ(filter.run(connected), kAllow);
  EXPECT_EQ(filter.unreached(), std::vector<std::string>{});
}

TEST_P(Matrix, KillsCallsOfEveryOtherArchitecture) {
  const auto [arch, profile] = GetParam();
  BpfInterpreter filter(compile_filter(arch, profile));
  const auto getpid = static_cast<std::uint32_t>(*find_syscall("getpid")->number(arch));
  const std::uint32_t others[] = {
      AUDIT_ARCH_ARM,     AUDIT_ARCH_I386,          AUDIT_ARCH_AARCH64,       AUDIT_ARCH_X86_64,
      AUDIT_ARCH_PPC64LE, token(arch) & 0x7fffffff, token(arch) & 0xbfffffff, 0,
      0xffffffff};
  for (std::uint32_t other : others) {
    if (other == token(arch)) continue;
    for (std::uint32_t number = 0; number < 1024; ++number) {
      ASSERT_EQ(filter.run(call(other, number)), kKill) << other << " " << number;
    }
  }
  EXPECT_EQ(filter.run(call(token(arch), getpid)), kAllow);
}

TEST_P(Matrix, IsShortEnoughForEveryLaunch) {
  const auto [arch, profile] = GetParam();
  // Network mode allow judges more, and starts threads anyway. Every launch copies the program and
  // has the kernel compile it, so that a rule that makes it longer is to be weighed.
  // A staged run asks about three calls more, which lie apart; a watched one about every path.
  const std::size_t most = (profile.net == NetMode::Allow ? 230U : 200U) +
                           (profile.staged ? 10U : 0U) + (profile.watched ? 120U : 0U);
  EXPECT_LE(compile_filter(arch, profile).size(), most);
}

std::vector<FilterProfile> every_profile() {
  std::vector<FilterProfile> profiles(std::begin(kProfiles), std::end(kProfiles));
  profiles.insert(profiles.end(), std::begin(kWatchedProfiles), std::end(kWatchedProfiles));
  return profiles;
}

INSTANTIATE_TEST_SUITE_P(SeccompFilter, Matrix,
                         ::testing::Combine(::testing::ValuesIn(kArches),
                                            ::testing::ValuesIn(every_profile())),
                         [](const auto& tested) {
                           return std::string(name_of(std::get<0>(tested.param))) + "Net" +
                                  std::to_string(static_cast<int>(std::get<1>(tested.param).net)) +
                                  (std::get<1>(tested.param).brokered ? "Brokered" : "") +
                                  (std::get<1>(tested.param).staged ? "Staged" : "") +
                                  (std::get<1>(tested.param).watched ? "Watched" : "");
                         });

// Numbers and answers written out by hand, so that the tables above are not their own witness.
struct Spot {
  int aarch64;
  int x86_64;
  Arguments arguments;
  std::uint32_t answer;
};

TEST(SeccompFilter, GivesTheAnswersWrittenHereByHand) {
  const Spot spots[] = {
      {56, 257, {}, kAllow},                           // openat
      {63, 0, {}, kAllow},                             // read
      {221, 59, {}, kAllow},                           // execve
      {222, 9, {}, kAllow},                            // mmap
      {98, 202, {}, kAllow},                           // futex
      {435, 435, {}, kNotThere},                       // clone3
      {425, 425, {}, kNotThere},                       // io_uring_setup
      {0, 206, {}, kNotThere},                         // io_setup
      {117, 101, {}, kPermission},                     // ptrace
      {97, 272, {}, kPermission},                      // unshare
      {268, 308, {}, kPermission},                     // setns
      {40, 165, {}, kPermission},                      // mount
      {280, 321, {}, kPermission},                     // bpf
      {241, 298, {}, kPermission},                     // perf_event_open
      {282, 323, {}, kPermission},                     // userfaultfd
      {219, 250, {}, kPermission},                     // keyctl
      {438, 438, {}, kPermission},                     // pidfd_getfd
      {142, 169, {}, kPermission},                     // reboot
      {265, 304, {}, kPermission},                     // open_by_handle_at
      {451, 451, {}, kPermission},                     // cachestat
      {452, 452, {}, kAllow},                          // fchmodat2
      {452, 452, {0, 0, 04755}, kPermission},          // making a program run as its owner
      {452, 452, {0, 0, 02755}, kPermission},          // or as its group
      {52, 91, {0, 04755}, kPermission},               // fchmod
      {52, 91, {0, 01777}, kAllow},                    // a sticky directory
      {56, 257, {0, 0, 0101, 04755}, kPermission},     // openat that creates
      {56, 257, {0, 0, 0, 04755}, kAllow},             // without creating the mode means nothing
      {437, 437, {}, kNotThere},                       // openat2: its mode cannot be seen
      {462, 462, {}, kAllow},                          // mseal
      {457, 457, {}, kNotThere},                       // statmount
      {467, 467, {}, kPermission},                     // open_tree_attr
      {463, 463, {}, kNotThere},                       // newer than the table
      {600, 600, {}, kNotThere},                       // never given out
      {250, 400, {}, kNotThere},                       // gaps
      {220, 56, {0x11}, kAllow},                       // clone, as fork does
      {220, 56, {0x10000011}, kPermission},            // clone with CLONE_NEWUSER
      {29, 16, {0, 0x5401}, kAllow},                   // ioctl TCGETS
      {29, 16, {0, 0x5412}, kPermission},              // ioctl TIOCSTI
      {29, 16, {0, 0x100005412}, kPermission},         // the same with a high bit
      {198, 41, {2, 1, 0}, kAllow},                    // socket, TCP
      {198, 41, {10, 0x80802, 17}, kAllow},            // UDP over IPv6, flags set
      {198, 41, {2, 3, 0}, kPermission},               // raw
      {198, 41, {2, 1, 262}, kPermission},             // MPTCP
      {198, 41, {1, 2, 0}, kPermission},               // AF_UNIX, datagram
      {198, 41, {1, 3, 0}, kPermission},               // raw, which becomes datagram
      {198, 41, {16, 3, 0}, kAllow},                   // NETLINK_ROUTE
      {198, 41, {16, 3, 4}, kPermission},              // NETLINK_SOCK_DIAG
      {198, 41, {17, 3, 0}, kFamily},                  // AF_PACKET
      {198, 41, {38, 5, 0}, kFamily},                  // AF_ALG
      {198, 41, {40, 1, 0}, kFamily},                  // AF_VSOCK
      {199, 53, {1, 1, 0}, kAllow},                    // socketpair, stream
      {199, 53, {1, 2, 0}, kPermission},               // datagram
      {199, 53, {1, 3, 0}, kPermission},               // raw, which becomes datagram
      {206, 44, {0, 0, 0, 0x20000000}, kPermission},   // sendto MSG_FASTOPEN
      {208, 54, {0, 6, 30}, kPermission},              // setsockopt TCP_FASTOPEN_CONNECT
      {208, 54, {0, 6, 1}, kAllow},                    // setsockopt TCP_NODELAY
      {208, 54, {0, 1, 25}, kPermission},              // setsockopt SO_BINDTODEVICE
      {167, 157, {0x59616d61}, kPermission},           // prctl PR_SET_PTRACER
      {167, 157, {35}, kPermission},                   // prctl PR_SET_MM
      {167, 157, {15}, kAllow},                        // prctl PR_SET_NAME
      {277, 317, {1, 8}, kPermission},                 // seccomp with a listener
      {277, 317, {1, 1}, kAllow},                      // seccomp for all threads
      {92, 135, {0x0400000}, kPermission},             // personality READ_IMPLIES_EXEC
      {92, 135, {0xffffffff}, kAllow},                 // personality query
      {33, 259, {0, 0, S_IFCHR | 0600}, kPermission},  // mknodat, device
      {33, 259, {0, 0, S_IFIFO | 0600}, kAllow},       // mknodat, fifo
  };
  for (Arch arch : kArches) {
    for (const FilterProfile& profile : kProfiles) {
      BpfInterpreter filter(compile_filter(arch, profile));
      for (const Spot& spot : spots) {
        const int number = arch == Arch::Aarch64 ? spot.aarch64 : spot.x86_64;
        EXPECT_EQ(filter.run(call(token(arch), static_cast<std::uint32_t>(number), spot.arguments)),
                  spot.answer)
            << name_of(arch) << " " << number;
      }
    }
  }
}

// Numbers by hand again: openat, mkdirat, execve; read and fchmod, which take no path; a file that
// would run as its owner.
TEST(SeccompFilter, ShowsPathsOfAWatchedRunAndNothingThatItRefuses) {
  constexpr std::uint64_t kCreate = 0100;
  constexpr std::uint64_t kSetUser = 04755;
  for (const Arch arch : kArches) {
    const bool arm = arch == Arch::Aarch64;
    for (const FilterProfile& profile : kWatchedProfiles) {
      BpfInterpreter filter(compile_filter(arch, profile));
      const auto ask = [&](std::uint32_t aarch64, std::uint32_t x86_64, Arguments given = {}) {
        return filter.run(call(token(arch), arm ? aarch64 : x86_64, given));
      };
      EXPECT_EQ(ask(56, 257), kBroker);
      EXPECT_EQ(ask(34, 258), kBroker);
      EXPECT_EQ(ask(221, 59), kBroker);
      EXPECT_EQ(ask(63, 0), kAllow);
      EXPECT_EQ(ask(52, 91), kAllow);
      EXPECT_EQ(ask(56, 257, {0, 0, kCreate, kSetUser}), kPermission);
      EXPECT_EQ(ask(53, 268, {0, 0, kSetUser}), kPermission);
      EXPECT_EQ(ask(51, 161), kPermission) << "chroot";
      EXPECT_EQ(ask(79, 4), kBroker) << "newfstatat, stat";
    }
  }
}

// What of the kernel's calls takes the path of a file. Each is watched, or nobody may make it.
TEST(SeccompFilter, WatchesEveryCallThatTakesAPath) {
  constexpr std::string_view kTakePaths[] = {"access",
                                             "acct",
                                             "chdir",
                                             "chmod",
                                             "chown",
                                             "chroot",
                                             "creat",
                                             "execve",
                                             "execveat",
                                             "faccessat",
                                             "faccessat2",
                                             "fanotify_mark",
                                             "fchmodat",
                                             "fchmodat2",
                                             "fchownat",
                                             "fspick",
                                             "futimesat",
                                             "getxattr",
                                             "inotify_add_watch",
                                             "lchown",
                                             "lgetxattr",
                                             "link",
                                             "linkat",
                                             "listxattr",
                                             "llistxattr",
                                             "lremovexattr",
                                             "lsetxattr",
                                             "lstat",
                                             "mkdir",
                                             "mkdirat",
                                             "mknod",
                                             "mknodat",
                                             "mount",
                                             "mount_setattr",
                                             "move_mount",
                                             "name_to_handle_at",
                                             "newfstatat",
                                             "open",
                                             "open_tree",
                                             "open_tree_attr",
                                             "openat",
                                             "openat2",
                                             "pivot_root",
                                             "quotactl",
                                             "readlink",
                                             "readlinkat",
                                             "removexattr",
                                             "rename",
                                             "renameat",
                                             "renameat2",
                                             "rmdir",
                                             "setxattr",
                                             "stat",
                                             "statfs",
                                             "statx",
                                             "swapoff",
                                             "swapon",
                                             "symlink",
                                             "symlinkat",
                                             "truncate",
                                             "umount2",
                                             "unlink",
                                             "unlinkat",
                                             "uselib",
                                             "utime",
                                             "utimensat",
                                             "utimes"};
  std::set<std::string_view> watched;
  for (const sys::PathCall& call : sys::path_calls()) {
    EXPECT_TRUE(watched.insert(call.name).second) << call.name << " stands there twice";
    const auto known = find_syscall(call.name);
    ASSERT_TRUE(known) << call.name;
    EXPECT_EQ(known->number(native_arch()).value_or(-1), call.number) << call.name;
  }
  for (const std::string_view name : kTakePaths) {
    const auto known = find_syscall(name);
    ASSERT_TRUE(known) << name;
    const bool refused = known->decision == Decision::Refuse || known->decision == Decision::Absent;
    EXPECT_NE(refused, watched.erase(name) > 0) << name;
  }
  EXPECT_TRUE(watched.empty()) << *watched.begin() << " takes no path";
}

// Numbers by hand again: connect, bind and listen of both architectures; a local stream socket.
TEST(SeccompFilter, AsksTheSupervisorWhereThereIsABroker) {
  for (const Arch arch : kArches) {
    for (const FilterProfile& profile : kProfiles) {
      BpfInterpreter filter(compile_filter(arch, profile));
      const NetMode net = profile.net;
      const bool brokered = profile.brokered || net == NetMode::Allow;
      for (const auto& [aarch64, x86_64] : {std::pair(203U, 42U), std::pair(200U, 49U)}) {
        EXPECT_EQ(filter.run(call(token(arch), arch == Arch::Aarch64 ? aarch64 : x86_64)),
                  brokered ? kBroker : kAllow);
      }
      EXPECT_EQ(filter.run(call(token(arch), arch == Arch::Aarch64 ? 201 : 50)),
                net == NetMode::Allow ? kBroker : kAllow);
      for (const std::uint64_t type : {1UL, 5UL, 0x80801UL}) {
        const std::uint32_t socket = arch == Arch::Aarch64 ? 198 : 41;
        EXPECT_EQ(filter.run(call(token(arch), socket, {1, type, 0})),
                  brokered ? kAllow : kPermission);
      }
      for (const auto& [level, option] :
           {std::pair(0U, 4U), std::pair(41U, 57U), std::pair(0U, 35U)}) {
        const std::uint32_t set = arch == Arch::Aarch64 ? 208 : 54;  // routes and groups
        EXPECT_EQ(filter.run(call(token(arch), set, {0, level, option})),
                  net == NetMode::Allow ? kPermission : kAllow);
      }
      // A datagram with an address, where it cannot lead outside.
      for (const std::uint64_t address : {0UL, 0x7fff0010UL}) {
        const bool told = address != 0 && brokered && net != NetMode::Open;
        seccomp_data send = call(token(arch), arch == Arch::Aarch64 ? 206 : 44, {3, 0, 1, 0x4000});
        send.args[4] = address;
        EXPECT_EQ(filter.run(send), told ? kBroker : kAllow);
      }
      const std::uint32_t interfaces = arch == Arch::Aarch64 ? 29 : 16;  // ioctl SIOCGIFCONF
      EXPECT_EQ(filter.run(call(token(arch), interfaces, {0, 0x8912})),
                net == NetMode::Allow ? kPermission : kAllow);
    }
  }
}

TEST(SeccompFilter, LetsOnlyAnOpenNetworkPing) {
  const auto number = static_cast<std::uint32_t>(*find_syscall("socket")->aarch64);
  const seccomp_data ping = call(AUDIT_ARCH_AARCH64, number, {AF_INET, SOCK_DGRAM, 1});
  EXPECT_EQ(BpfInterpreter(compile_filter(Arch::Aarch64, {NetMode::None})).run(ping), kPermission);
  EXPECT_EQ(BpfInterpreter(compile_filter(Arch::Aarch64, {NetMode::Open})).run(ping), kAllow);
}

TEST(SeccompFilter, LeavesTheInitAlone) {
  for (const Arch arch : {Arch::Aarch64, Arch::X86_64}) {
    BpfInterpreter filter(compile_filter(arch, {NetMode::None}));
    const auto verdict = [&](const char* name, std::uint64_t first, std::uint64_t second) {
      const auto number = static_cast<std::uint32_t>(*find_syscall(name)->number(arch));
      return filter.run(call(token(arch), number, {first, second}));
    };
    for (const char* name : {"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam",
                             "sched_setscheduler"}) {
      EXPECT_EQ(verdict(name, 1, 0), kPermission) << name;
      EXPECT_EQ(verdict(name, 0, 0), kAllow) << name;
      EXPECT_EQ(verdict(name, 2, 0), kAllow) << name;
      // The kernel looks at the lower half alone.
      EXPECT_EQ(verdict(name, (1ULL << 32U) + 1, 0), kPermission) << name;
    }
    for (const auto& [name, process] :
         {std::pair("setpriority", 0U), std::pair("ioprio_set", 1U)}) {
      for (const std::uint32_t which : {process, process + 1}) {
        EXPECT_EQ(verdict(name, which, 1), kPermission) << name << which;
        EXPECT_EQ(verdict(name, which, 0), kAllow) << name << which;
        EXPECT_EQ(verdict(name, which, 7), kAllow) << name << which;
      }
      EXPECT_EQ(verdict(name, process + 2, 0), kPermission) << name;
      EXPECT_EQ(verdict(name, process + 2, 1000), kPermission) << name;
    }
    EXPECT_EQ(verdict("fcntl", 3, 1024), kPermission);
    EXPECT_EQ(verdict("fcntl", 3, 1025), kAllow);
    EXPECT_EQ(verdict("fcntl", 3, 0), kAllow);
  }
}

TEST(SeccompFilter, LetsATracerSkipACall) {
  for (const auto& [arch, audit] :
       {std::pair{Arch::X86_64, AUDIT_ARCH_X86_64}, std::pair{Arch::Aarch64, AUDIT_ARCH_AARCH64}}) {
    BpfInterpreter filter(compile_filter(arch, {}));
    EXPECT_EQ(filter.run(call(audit, 0xffffffff)), kNotThere);
  }
  EXPECT_EQ(
      BpfInterpreter(compile_filter(Arch::X86_64, {})).run(call(AUDIT_ARCH_X86_64, 0xfffffffe)),
      kKill);
}

TEST(SeccompFilter, KillsX32NumbersOnX86Alone) {
  const seccomp_data on_x86 = call(AUDIT_ARCH_X86_64, 0x40000000);
  EXPECT_EQ(BpfInterpreter(compile_filter(Arch::X86_64, {})).run(on_x86), kKill);
  const seccomp_data on_arm = call(AUDIT_ARCH_AARCH64, 0x40000000);
  EXPECT_EQ(BpfInterpreter(compile_filter(Arch::Aarch64, {})).run(on_arm), kNotThere);
}

TEST(SeccompFilter, DescribesItselfInOneLine) {
  const auto program = compile_filter(Arch::Aarch64, {});
  const std::string line = describe_filter(Arch::Aarch64, {});
  EXPECT_EQ(line.find("seccomp aarch64: "), 0u) << line;
  EXPECT_NE(line.find(" allowed, 24 by argument, "), std::string::npos) << line;
  EXPECT_NE(line.find(" " + std::to_string(program.size()) + " instructions"), std::string::npos);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace cordon
