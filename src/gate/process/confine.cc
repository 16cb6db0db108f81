#include "gate/process/confine.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/fd.h"
#include "sandbox/native/bpf_assembler.h"
#include "sys/calls.h"
#include "sys/landlock.h"

namespace cordon::gate {
namespace {

constexpr std::uint32_t kAllowed = 0x7fff0000;      // SECCOMP_RET_ALLOW
constexpr std::uint32_t kKillProcess = 0x80000000;  // SECCOMP_RET_KILL_PROCESS

constexpr std::string_view kPermitted[] = {
    // Bytes over open descriptors. Descriptors come in by recvmsg, and without sendmsg none goes
    // out.
    "close", "epoll_ctl", "epoll_pwait", "epoll_wait", "read", "recvfrom", "recvmsg", "sendto",
    "shutdown", "write", "writev",
    // Its own memory, time and randomness.
    "brk", "clock_gettime", "futex", "getpid", "getrandom", "gettid", "gettimeofday", "madvise",
    "mremap", "munmap", "restart_syscall", "rt_sigprocmask", "rt_sigreturn",
    // Its end. abort() sends itself a signal, which is not permitted and ends it as well.
    "exit", "exit_group"};

// Memory that can be written is never executed.
BpfLabel write_memory_rule(BpfAssembler& assembler, unsigned protection, BpfLabel allow,
                           BpfLabel kill) {
  return assembler.load_argument(protection, assembler.if_any_bit(PROT_EXEC, kill, allow));
}

Result<void> give_up_files() {
  const int abi = sys::landlock_abi();
  if (abi <= 0) return {};
  constexpr int kWithPorts = 4;
  const std::uint64_t ports =
      abi >= kWithPorts ? sys::landlock::kBindTcp | sys::landlock::kConnectTcp : 0;
  const Fd ruleset(sys::landlock_create_ruleset(sys::landlock::file_rights(abi),
                                                sys::landlock::scopes(abi), ports));
  if (!ruleset.valid())
    return fail(setup_error("the gate's Landlock rules cannot be made", -ruleset.get()));
  const int restricted = sys::landlock_restrict_self(ruleset.get());
  if (restricted < 0) return fail(setup_error("the gate cannot give up the files", -restricted));
  return {};
}

}  // namespace

Result<void> hide_memory() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return fail(setup_error("the gate cannot hide its memory", errno));
  return {};
}

std::vector<sock_filter> gate_filter(Arch arch) {
  BpfAssembler assembler;
  const BpfLabel kill = assembler.give(kKillProcess);
  const BpfLabel allow = assembler.give(kAllowed);
  // mmap also maps files, of which none can be opened.
  const BpfLabel memory = write_memory_rule(assembler, 2, allow, kill);
  std::vector<std::pair<std::uint32_t, BpfLabel>> answers;
  const auto add = [&](std::string_view name, BpfLabel label) {
    const auto known = find_syscall(name);
    const auto number = known ? known->number(arch) : std::nullopt;
    if (number) answers.emplace_back(static_cast<std::uint32_t>(*number), label);
  };
  for (std::string_view name : kPermitted) add(name, allow);
  add("mmap", memory);
  add("mprotect", memory);
  add("fcntl", assembler.load_argument(1, assembler.if_one_of({F_GETFL, F_SETFL}, allow, kill)));
  const BpfLabel without_delay =
      assembler.load_argument(2, assembler.if_equal(TCP_NODELAY, allow, kill));
  add("setsockopt",
      assembler.load_argument(1, assembler.if_equal(IPPROTO_TCP, without_delay, kill)));
  std::ranges::sort(answers, {}, &std::pair<std::uint32_t, BpfLabel>::first);
  std::vector<BpfSegment> segments{{0, kill}};
  const auto begin = [&](std::uint32_t first, BpfLabel target) {
    if (segments.back().first == first) segments.pop_back();
    if (segments.empty() || segments.back().target != target) segments.push_back({first, target});
  };
  for (const auto& [number, label] : answers) {
    begin(number, label);
    begin(number + 1, kill);
  }
  return behind_arch_gate(assembler, arch, assembler.search(segments));
}

Result<void> confine() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fail(setup_error("no_new_privs cannot be set", errno));
  const int dropped = sys::drop_own_capabilities();
  if (dropped < 0) return fail(setup_error("the gate cannot give up its capabilities", -dropped));
  CORDON_CHECK(give_up_files());
  const std::vector<sock_filter> filter = gate_filter(native_arch());
  const int installed =
      sys::install_filter(filter.data(), static_cast<unsigned short>(filter.size()));
  if (installed < 0) return fail(setup_error("the gate's filter cannot be installed", -installed));
  return {};
}

}  // namespace cordon::gate
