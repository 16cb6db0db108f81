#include "gate/process/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <set>
#include <string>

#include "support/bpf_interpreter.h"

namespace cordon::gate {
namespace {

// Of linux/audit.h.
constexpr std::uint32_t kAarch64 = 0xc00000b7;
constexpr std::uint32_t kX8664 = 0xc000003e;

bool is_permitted(Arch arch, std::string_view name, std::uint64_t first = 0,
                  std::uint64_t second = 0, std::uint64_t third = 0) {
  const auto number = find_syscall(name)->number(arch);
  if (!number) return false;
  BpfInterpreter interpreter(gate_filter(arch));
  seccomp_data data{};
  data.arch = arch == Arch::Aarch64 ? kAarch64 : kX8664;
  data.nr = *number;
  data.args[0] = first;
  data.args[1] = second;
  data.args[2] = third;
  const auto answer = interpreter.run(data);
  EXPECT_TRUE(answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_KILL_PROCESS) << name;
  return answer == SECCOMP_RET_ALLOW;
}

TEST(GateFilter, PermitsWhatMovesBytesAndNothingElse) {
  const std::set<std::string_view> permitted = {
      "brk",          "clock_gettime",   "close",          "epoll_ctl",
      "epoll_pwait",  "epoll_wait",      "exit",           "exit_group",
      "futex",        "getpid",          "getrandom",      "gettid",
      "gettimeofday", "madvise",         "mmap",           "mprotect",
      "mremap",       "munmap",          "read",           "recvfrom",
      "recvmsg",      "restart_syscall", "rt_sigprocmask", "rt_sigreturn",
      "sendto",       "shutdown",        "write",          "writev"};
  for (const Arch arch : {Arch::Aarch64, Arch::X86_64}) {
    for (const KnownSyscall& call : known_syscalls()) {
      if (!call.number(arch)) continue;
      EXPECT_EQ(is_permitted(arch, call.name), permitted.contains(call.name))
          << name_of(arch) << " " << call.name;
    }
  }
}

TEST(GateFilter, MakesNoMemoryThatCanBeExecuted) {
  for (const Arch arch : {Arch::Aarch64, Arch::X86_64}) {
    for (const char* call : {"mmap", "mprotect"}) {
      EXPECT_TRUE(is_permitted(arch, call, 0, 4096, PROT_READ | PROT_WRITE));
      EXPECT_FALSE(is_permitted(arch, call, 0, 4096, PROT_READ | PROT_EXEC));
    }
  }
}

TEST(GateFilter, SetsWhatItsSocketsNeed) {
  for (const Arch arch : {Arch::Aarch64, Arch::X86_64}) {
    EXPECT_TRUE(is_permitted(arch, "fcntl", 4, F_SETFL, O_NONBLOCK));
    EXPECT_FALSE(is_permitted(arch, "fcntl", 4, F_SETOWN, 1));
    EXPECT_TRUE(is_permitted(arch, "setsockopt", 4, IPPROTO_TCP, TCP_NODELAY));
    EXPECT_FALSE(is_permitted(arch, "setsockopt", 4, IPPROTO_TCP, TCP_ULP));
    EXPECT_FALSE(is_permitted(arch, "setsockopt", 4, SOL_SOCKET, TCP_NODELAY));
  }
}

}  // namespace
}  // namespace cordon::gate
