// The rules that look at a call's arguments, as blocks of a BPF program. A pointer cannot be
// followed, so only scalars are judged; of those only the low 32 bits, because the kernel takes
// these arguments as int: with high bits set an equality test on all 64 would miss.
#pragma once

#include <linux/seccomp.h>
#include <sys/stat.h>

#include <cstdint>
#include <initializer_list>

#include "sandbox/native/bpf_assembler.h"
#include "sandbox/native/seccomp_filter.h"
#include "sandbox/native/syscall_table.h"

namespace cordon {

// What both sets of rules about arguments (argument_rules.h, shared_host_rules.h) know of the
// kernel's numbers.

// Typing into a terminal (TIOCSTI), pasting on a console (TIOCLINUX), taking the console's output
// (TIOCCONS), loading a line discipline (TIOCSETD).
inline constexpr std::initializer_list<std::uint32_t> kRefusedTerminalRequests = {0x5412, 0x541c,
                                                                                  0x541d, 0x5423};

inline constexpr std::uint32_t kSocketTypeMask = 0xf;  // the rest is SOCK_NONBLOCK, SOCK_CLOEXEC
inline constexpr std::uint32_t kFastOpenFlag = 0x20000000;  // connects by sending

// A socket of the host's network namespace would read the host's interfaces by these.
inline constexpr std::uint32_t kFirstInterfaceRequest = 0x8910;
inline constexpr std::uint32_t kLastInterfaceRequest = 0x89ff;

// A file that runs as its owner is harmless inside, where no_new_privs holds, and outlives the run
// on the host, where anybody may execute it as the caller, or as root.
inline constexpr std::uint32_t kOwnersRights = S_ISUID | S_ISGID;

// The filter's answer that a call fails with `error`.
inline std::uint32_t with_errno(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
}

// The answers every block may jump to.
struct Verdicts {
  BpfLabel allow;
  BpfLabel refuse;
  BpfLabel absent;
  BpfLabel no_such_family;
  BpfLabel broker;  // the supervisor's answer if there is a broker, else allow
};

Verdicts write_verdicts(BpfAssembler& assembler, const FilterProfile& profile);

// Writes the block of one decision; the plain decisions are verdicts already and write nothing.
BpfLabel write_rule(BpfAssembler& assembler, Decision decision, const Verdicts& verdicts,
                    const FilterProfile& profile);

}  // namespace cordon
