// The filter of a sandbox without namespaces: a second statement of what it answers differently,
// and that everything else is answered as with them.
#include "sandbox/native/host_rules.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <set>
#include <string_view>
#include <tuple>

#include "sandbox/native/seccomp_filter.h"
#include "support/bpf_interpreter.h"

namespace cordon {
namespace {

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kAsk = SECCOMP_RET_USER_NOTIF;

constexpr std::uint32_t error(std::uint32_t number) { return SECCOMP_RET_ERRNO | number; }

class SharedHost : public ::testing::TestWithParam<std::tuple<Arch, NetMode>> {
 protected:
  static Arch arch() { return std::get<0>(GetParam()); }
  static NetMode net() { return std::get<1>(GetParam()); }
  static seccomp_data data(std::string_view name, std::array<std::uint64_t, 4> arguments) {
    seccomp_data made{};
    made.arch = arch() == Arch::Aarch64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64;
    made.nr = find_syscall(name)->number(arch()).value_or(-1);
    for (std::size_t i = 0; i < arguments.size(); ++i) made.args[i] = arguments[i];
    return made;
  }
  std::uint32_t answer(std::string_view name, std::array<std::uint64_t, 4> arguments = {}) {
    return filter_.run(data(name, arguments)).value_or(0);
  }
  std::uint32_t answer_with_address(std::string_view name, std::uint64_t address) {
    seccomp_data made = data(name, {3, 0, 0, 0});
    made.args[4] = address;
    return filter_.run(made).value_or(0);
  }
  static bool known(std::string_view name) {
    return find_syscall(name)->number(arch()).has_value();
  }

  BpfInterpreter filter_{compile_filter(arch(), {net(), true, true})};
};

TEST_P(SharedHost, RefusesTheHostsIpc) {
  for (const char* name :
       {"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget",
        "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive",
        "mq_notify", "mq_getsetattr"}) {
    EXPECT_EQ(answer(name), error(ENOSYS)) << name;
  }
}

TEST_P(SharedHost, HasNoAttributesAndNoWatches) {
  for (const char* name :
       {"getxattr", "lgetxattr", "listxattr", "llistxattr", "setxattr", "lsetxattr", "fsetxattr",
        "removexattr", "lremovexattr", "fremovexattr"}) {
    EXPECT_EQ(answer(name), error(EOPNOTSUPP)) << name;
  }
  EXPECT_EQ(answer("fgetxattr"), kAllow);
  EXPECT_EQ(answer("inotify_add_watch"), error(EPERM));
}

TEST_P(SharedHost, AsksForModesTimesAndOwners) {
  EXPECT_EQ(answer("fchmod", {0, 0644}), kAsk);
  EXPECT_EQ(answer("fchmod", {0, 04755}), error(EPERM));
  EXPECT_EQ(answer("fchmodat", {0, 0, 01777}), kAsk);
  EXPECT_EQ(answer("fchmodat2", {0, 0, 02755}), error(EPERM));
  EXPECT_EQ(answer("utimensat"), kAsk);
  for (const char* name :
       {"utime", "utimes", "futimesat", "chown", "lchown", "fchown", "fchownat"}) {
    if (!known(name)) continue;
    EXPECT_EQ(answer(name), kAsk) << name;
  }
  for (const char* name : {"chmod"}) {
    if (!known(name)) continue;
    EXPECT_EQ(answer(name, {0, 0600}), kAsk);
  }
  // With nobody to ask there is no yes. A list of hosts always has somebody.
  if (net() == NetMode::Allow) return;
  BpfInterpreter alone(compile_filter(arch(), {net(), false, true}));
  EXPECT_EQ(alone.run(data("utimensat", {})), error(EPERM));
}

TEST_P(SharedHost, LeavesOtherProcessesAlone) {
  for (const char* name : {"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam",
                           "sched_setscheduler"}) {
    EXPECT_EQ(answer(name, {0}), kAllow) << name;
    EXPECT_EQ(answer(name, {1234}), error(EPERM)) << name;
    // The kernel takes an int: the upper half does not count.
    EXPECT_EQ(answer(name, {0x1'0000'04d2}), error(EPERM)) << name;
  }
  EXPECT_EQ(answer("setpriority", {0, 0, 5}), kAllow);
  EXPECT_EQ(answer("setpriority", {0, 1234, 5}), error(EPERM));
  EXPECT_EQ(answer("setpriority", {2, 0, 5}), error(EPERM));  // everything of this user
  EXPECT_EQ(answer("ioprio_set", {1, 0, 5}), kAllow);
  EXPECT_EQ(answer("ioprio_set", {3, 0, 5}), error(EPERM));
}

TEST_P(SharedHost, KnowsFewRequests) {
  for (const std::uint64_t request : {0x5401ULL, 0x5413ULL, 0x541bULL, 0x5421ULL, 0x802c542aULL,
                                      0x80086601ULL, 0x40049409ULL, 0x8905ULL}) {
    EXPECT_EQ(answer("ioctl", {0, request}), kAllow) << request;
  }
  for (const std::uint64_t request : {0x5412ULL, 0x541cULL, 0x541dULL, 0x5423ULL}) {
    EXPECT_EQ(answer("ioctl", {0, request}), error(EPERM)) << request;
    EXPECT_EQ(answer("ioctl", {0, request | 1ULL << 40}), error(EPERM)) << request;
  }
  // Flags, fs-verity, encryption, subvolumes.
  for (const std::uint64_t request : {0x40086602ULL, 0x40806685ULL, 0x800c6613ULL, 0x5000940fULL}) {
    EXPECT_EQ(answer("ioctl", {0, request}), error(ENOTTY)) << request;
  }
  const std::uint32_t interfaces = net() == NetMode::Open ? kAllow : error(EPERM);
  for (const std::uint64_t request : {0x8910ULL, 0x8912ULL, 0x89ffULL}) {
    EXPECT_EQ(answer("ioctl", {0, request}), interfaces) << request;
  }
}

TEST_P(SharedHost, MakesNoSocketThatReachesTheInternetUnlessItIsOpen) {
  const std::uint32_t outside = net() == NetMode::Open ? kAllow : error(EPERM);
  const bool hosts = net() == NetMode::Allow;
  // Only the broker connects it; and what it gives for datagrams is none of the internet.
  EXPECT_EQ(answer("socket", {AF_INET, SOCK_STREAM, 0}), hosts ? kAllow : outside);
  EXPECT_EQ(answer("socket", {AF_INET6, SOCK_DGRAM, 0}), hosts ? kAsk : outside);
  EXPECT_EQ(answer("socket", {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP}),
            hosts ? kAsk : outside);
  EXPECT_EQ(answer("socket", {AF_NETLINK, SOCK_RAW, 0}), outside);
  for (const std::uint64_t protocol : {1ULL, 132ULL, 136ULL, 255ULL, 262ULL}) {
    if (net() == NetMode::Open) break;
    for (const std::uint64_t type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
      EXPECT_EQ(answer("socket", {AF_INET, type, protocol}), error(EPERM)) << type << protocol;
    }
  }
  EXPECT_NE(answer("socket", {AF_PACKET, SOCK_RAW, 0}), kAllow);
  EXPECT_EQ(answer("socket", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}), kAllow);
  EXPECT_EQ(answer("socket", {AF_UNIX, SOCK_DGRAM, 0}), error(EPERM));
}

TEST_P(SharedHost, AsksForAddressesOfDatagramsWhereHostsAreListed) {
  if (net() != NetMode::Allow) {
    EXPECT_EQ(answer_with_address("sendto", 0), kAllow);
    // No socket is made that it could be sent by; in mode none it is told all the same.
    EXPECT_EQ(answer_with_address("sendto", 0x7fff0010), net() == NetMode::None ? kAsk : kAllow);
    return;
  }
  for (const char* name : {"connect", "bind", "listen", "recvmsg", "getsockname", "getpeername"})
    EXPECT_EQ(answer(name), kAsk) << name;
  for (const char* name : {"sendto", "recvfrom"}) {
    EXPECT_EQ(answer_with_address(name, 0), kAllow) << name;
    EXPECT_EQ(answer_with_address(name, 0x7fff0010), kAsk) << name;
  }
  constexpr std::uint64_t kFastOpen = 0x20000000;
  EXPECT_EQ(answer("sendto", {3, 0, 0, kFastOpen}), error(EPERM));
  EXPECT_EQ(answer("sendmsg", {3, 0, kFastOpen}), error(EPERM));
  EXPECT_EQ(answer("sendmmsg", {3, 0, 1, kFastOpen}), error(EPERM));
  // As if they were set: a source route, a group, and what resolvers want.
  for (const std::uint64_t option : {4ULL, 11ULL, 35ULL}) {
    EXPECT_EQ(answer("setsockopt", {3, IPPROTO_IP, option}), error(0)) << option;
    EXPECT_EQ(answer("setsockopt", {3, IPPROTO_IPV6, option}), error(0)) << option;
  }
  EXPECT_EQ(answer("setsockopt", {3, SOL_SOCKET, SO_BINDTODEVICE}), error(EPERM));
  EXPECT_EQ(answer("setsockopt", {3, SOL_SOCKET, SO_KEEPALIVE}), kAllow);
  EXPECT_EQ(answer("setsockopt", {3, IPPROTO_TCP, 30}), error(EPERM));
}

TEST_P(SharedHost, AnswersEverythingElseAsWithNamespaces) {
  BpfInterpreter usual(compile_filter(arch(), {net(), true, false}));
  BpfAssembler assembler;
  const FilterProfile profile{net(), true, true};
  std::set<std::uint32_t> changed;
  for (const SharedHostRule& rule :
       write_shared_host_rules(assembler, arch(), write_verdicts(assembler, profile), profile)) {
    EXPECT_TRUE(changed.insert(rule.number).second) << rule.number << " stands twice";
  }
  for (std::uint32_t number = 0; number < 1024; ++number) {
    if (changed.contains(number)) continue;
    for (const std::uint64_t argument : {0ULL, 1ULL, 0x10000000ULL, 0x8912ULL, ~0ULL}) {
      seccomp_data given = data("read", {argument, argument, argument, argument});
      given.nr = static_cast<int>(number);
      EXPECT_EQ(filter_.run(given), usual.run(given)) << number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedHost,
                         ::testing::Combine(::testing::Values(Arch::Aarch64, Arch::X86_64),
                                            ::testing::Values(NetMode::None, NetMode::Allow,
                                                              NetMode::Open)));

}  // namespace
}  // namespace cordon
