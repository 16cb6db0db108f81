#include "sandbox/native/syscall_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::IsSubsetOf;
using ::testing::Not;

constexpr Arch kArches[] = {Arch::Aarch64, Arch::X86_64};

std::uint32_t oracle_token(Arch arch) {
  return arch == Arch::Aarch64 ? SCMP_ARCH_AARCH64 : SCMP_ARCH_X86_64;
}

std::optional<std::string> oracle_name(Arch arch, int number) {
  char* name = seccomp_syscall_resolve_num_arch(oracle_token(arch), number);
  if (name == nullptr) return std::nullopt;
  std::string text = name;
  std::free(name);
  return text;
}

Decision decision_at(Arch arch, std::uint32_t number) {
  Decision found = Decision::Refuse;
  for (const DecisionRange& range : decision_ranges(arch)) {
    if (range.first <= number) found = range.decision;
  }
  return found;
}

TEST(SyscallTable, KnowsEveryNameAndNumberLibseccompKnows) {
  for (Arch arch : kArches) {
    int seen = 0;
    for (int number = 0; number < 1024; ++number) {
      const auto name = oracle_name(arch, number);
      if (!name) continue;
      ++seen;
      const auto call = find_syscall(*name);
      ASSERT_TRUE(call.has_value()) << *name;
      EXPECT_EQ(call->number(arch), number) << *name;
      EXPECT_EQ(syscall_name(arch, number), *name);
    }
    EXPECT_GT(seen, 290);
  }
}

TEST(SyscallTable, GivesNoNumberThatLibseccompContradicts) {
  for (const KnownSyscall& call : known_syscalls()) {
    for (Arch arch : kArches) {
      if (!call.number(arch)) continue;
      const auto name = oracle_name(arch, *call.number(arch));
      EXPECT_EQ(name.value_or(std::string(call.name)), call.name);
    }
  }
}

TEST(SyscallTable, HoldsEachNumberOnceAndInNameOrder) {
  const auto calls = known_syscalls();
  EXPECT_TRUE(std::ranges::is_sorted(calls, {}, &KnownSyscall::name));
  for (Arch arch : kArches) {
    std::set<int> numbers;
    for (const KnownSyscall& call : calls) {
      if (!call.number(arch)) continue;
      EXPECT_TRUE(numbers.insert(*call.number(arch)).second) << call.name;
    }
  }
}

TEST(SyscallTable, RangesGiveEveryKnownCallItsDecisionAndOtherNumbersNone) {
  for (Arch arch : kArches) {
    std::set<int> numbers;
    for (const KnownSyscall& call : known_syscalls()) {
      const auto number = call.number(arch);
      if (!number) continue;
      numbers.insert(*number);
      EXPECT_EQ(decision_at(arch, static_cast<std::uint32_t>(*number)), call.decision) << call.name;
    }
    for (int number = 0; number < 2000; ++number) {
      if (numbers.contains(number)) continue;
      EXPECT_EQ(decision_at(arch, static_cast<std::uint32_t>(number)), Decision::Absent);
    }
  }
}

TEST(SyscallTable, NeverAllowsWhatIsAlwaysRefused) {
  std::size_t count = 0;
  for (std::string_view name : always_refused()) {
    const auto call = find_syscall(name);
    ASSERT_TRUE(call.has_value());
    EXPECT_TRUE(call->decision == Decision::Refuse || call->decision == Decision::Absent) << name;
    EXPECT_EQ(call->standing, Standing::Never);
    ++count;
  }
  EXPECT_GT(count, 60u);
}

TEST(SyscallTable, AlwaysRefusesTheCallsThatReachPastTheBoundary) {
  const std::vector<std::string_view> demanded = {
      "io_uring_setup",
      "io_uring_enter",
      "io_uring_register",
      "bpf",
      "perf_event_open",
      "userfaultfd",
      "keyctl",
      "add_key",
      "request_key",
      "mount",
      "umount2",
      "pivot_root",
      "fsopen",
      "fsmount",
      "fsconfig",
      "fspick",
      "move_mount",
      "open_tree",
      "mount_setattr",
      "setns",
      "unshare",
      "ptrace",
      "process_vm_readv",
      "process_vm_writev",
      "kcmp",
      "pidfd_getfd",
      "kexec_load",
      "kexec_file_load",
      "init_module",
      "finit_module",
      "delete_module",
      "open_by_handle_at",
      "name_to_handle_at",
      "quotactl",
      "swapon",
      "swapoff",
      "reboot",
      "acct",
      "syslog",
      "settimeofday",
      "clock_settime",
      "clock_adjtime",
      "adjtimex",
      "chroot",
      "lookup_dcookie",
      "nfsservctl",
      "modify_ldt",
      "iopl",
      "ioperm",
      "vhangup",
      "fanotify_init",
      "move_pages",
      "migrate_pages",
      "memfd_secret",
      "sethostname",
      "setdomainname",
      "statmount",
      "listmount",
      "lsm_set_self_attr",
      "open_tree_attr",
      "clone3",
  };
  EXPECT_THAT(demanded, IsSubsetOf(always_refused()));
  EXPECT_THAT(always_refused(), Not(Contains("openat")));
}

TEST(SyscallTable, AnswersAbsentWhereLibrariesFallBack) {
  for (std::string_view name : {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register",
                                "io_setup", "io_submit", "io_pgetevents", "statmount", "openat2"}) {
    EXPECT_EQ(find_syscall(name)->decision, Decision::Absent) << name;
  }
}

TEST(SyscallTable, RefusesAKnownCallThatNobodyListed) {
  for (std::string_view name : {"mbind", "set_mempolicy", "cachestat", "sysfs", "vserver"}) {
    EXPECT_EQ(find_syscall(name)->decision, Decision::Refuse) << name;
    EXPECT_EQ(find_syscall(name)->standing, Standing::Open) << name;
  }
}

TEST(SyscallTable, AllowsWhatOrdinaryProgramsCall) {
  for (std::string_view name : {"read",
                                "execve",
                                "execveat",
                                "mmap",
                                "mprotect",
                                "futex",
                                "rseq",
                                "set_robust_list",
                                "membarrier",
                                "getrandom",
                                "memfd_create",
                                "statx",
                                "fchownat",
                                "getpgid",
                                "landlock_restrict_self",
                                "inotify_init1",
                                "shmat",
                                "mq_open",
                                "copy_file_range",
                                "splice",
                                "setgroups",
                                "capset",
                                "kill",
                                "rt_sigqueueinfo",
                                "pidfd_open",
                                "mseal",
                                "futex_wait",
                                "sched_yield",
                                "fsync",
                                "linkat",
                                "vfork",
                                "arch_prctl"}) {
    EXPECT_EQ(find_syscall(name)->decision, Decision::Allow) << name;
  }
}

TEST(SyscallTable, FindsNothingUnderAnUnknownNameOrNumber) {
  EXPECT_FALSE(find_syscall("no_such_call"));
  EXPECT_FALSE(find_syscall(""));
  EXPECT_FALSE(find_syscall("zzz"));
  EXPECT_FALSE(syscall_name(Arch::X86_64, -1));
  EXPECT_FALSE(syscall_name(Arch::X86_64, 1000));
  EXPECT_FALSE(syscall_name(Arch::Aarch64, 244));
  EXPECT_EQ(syscall_name(Arch::Aarch64, 56), "openat");
  EXPECT_EQ(syscall_name(Arch::X86_64, 257), "openat");
  EXPECT_EQ(find_syscall("open")->aarch64, std::nullopt);
}

}  // namespace
}  // namespace cordon
