// What the filter answers to each system call, for aarch64 and x86_64 alike. The numbers are taken
// from libseccomp while building, so a call that libseccomp knows and nobody listed is refused, and
// a number that nobody knows is absent (ENOSYS): the kernel may be newer than this table. Lookups
// are pure; the ranges the filter is compiled from are computed while building.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cordon {

enum class Arch { Aarch64, X86_64 };

Arch native_arch();
std::string_view name_of(Arch arch);

// Refuse, Absent and Allow answer at once; each of the others names the rule in argument_rules.h
// that looks at the arguments.
enum class Decision : std::uint8_t {
  Refuse,  // EPERM
  Absent,  // ENOSYS, so that libraries fall back to an older call
  Allow,
  Broker,  // allowed, but where there is a broker the supervisor makes the call
  Listen,  // the same in network mode allow, where a socket may be one of the host's network
  Rename,  // allowed; of a staged run the supervisor sees it first, to tell what a stage cannot do
  Clone,
  Fcntl,
  IoPriority,
  Ioctl,
  MakeNode,
  MakeNodeAt,
  Mode,
  ModeAt,
  OfProcess,
  Open,
  OpenAt,
  Personality,
  Prctl,
  Priority,
  Seccomp,
  SendTo,
  SendMessage,
  SendMessages,
  SetSocketOption,
  Socket,
  SocketPair,
};
inline constexpr std::size_t kDecisionCount = 27;

// Numbers from `first` up to the next range's `first` share one decision; the first range begins
// at 0 and the last has no end.
struct DecisionRange {
  std::uint32_t first;
  Decision decision;
};
std::span<const DecisionRange> decision_ranges(Arch arch);

enum class Standing {
  Open,   // a policy that lists calls by name may list this one
  Never,  // no policy may list it: it reaches past the boundary or removes it
};

struct KnownSyscall {
  std::string_view name;
  std::optional<int> aarch64;
  std::optional<int> x86_64;
  Decision decision;
  Standing standing;

  std::optional<int> number(Arch arch) const;
};

// Sorted by name.
std::vector<KnownSyscall> known_syscalls();
std::vector<std::string_view> always_refused();

std::optional<KnownSyscall> find_syscall(std::string_view name);
std::optional<std::string_view> syscall_name(Arch arch, int number);

}  // namespace cordon
