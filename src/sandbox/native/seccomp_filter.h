// The seccomp layer: one table of decisions compiled to the program the kernel runs at every system
// call of the sandbox. Calls of a foreign architecture (and of x32) kill the process, unknown
// numbers give ENOSYS, refused ones EPERM. Compiling is pure and quick enough for every launch;
// the child installs the finished program without allocating.
#pragma once

#include <linux/filter.h>

#include <span>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "sandbox/native/bpf_assembler.h"
#include "sandbox/native/syscall_table.h"

namespace cordon {

// FilterProfile: what of the filter may differ from run to run. There is no profile without it.

struct FilterProfile {
  NetMode net = NetMode::None;
  bool brokered = false;     // asked for also where the network mode does not need it
  bool shares_host = false;  // no namespaces: see shared_host_rules.h
  bool staged = false;       // what is written goes to a stage: the supervisor sees renames
  bool watched = false;      // the supervisor sees every call that takes a path

  // True if the supervisor answers connect and bind. Only then are there local sockets.
  [[nodiscard]] bool has_broker() const { return brokered || net == NetMode::Allow; }
};

std::vector<sock_filter> compile_filter(Arch arch, const FilterProfile& profile);

// One line for a printed plan: how many calls get which answer, and the program's length.
std::string describe_filter(Arch arch, const FilterProfile& profile);

// The beginning of every filter: calls of a foreign architecture (and of x32) kill the process
// before any number is compared, because the same number means another call there.

// The finished program: the gate, then `search` with the number in the accumulator.
std::vector<sock_filter> behind_arch_gate(BpfAssembler& assembler, Arch arch, BpfLabel search);

// The filter of a policy that lists calls by name: what is not listed kills the process. The rules
// that look at arguments hold for listed calls too, so that listing clone or ioctl opens no
// namespace and no terminal. Pure.

// Which sockets a listed `socket` makes. Local ones are never made: they reach the services of the
// host through any directory that is shown, and nobody judges each connection here.
enum class ListedSockets {
  None,      // EAFNOSUPPORT
  Internet,  // TCP and UDP, and queries of interfaces and routes
};

// `calls` are there on `arch`. One that no policy may list is answered ENOSYS, as are those that a
// library tries before an older one; the caller refuses a policy with the others beforehand.
std::vector<sock_filter> compile_listed_filter(Arch arch, std::span<const KnownSyscall> calls,
                                               ListedSockets sockets);

}  // namespace cordon
