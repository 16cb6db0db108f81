// What both sets of rules about arguments (argument_rules.h, shared_host_rules.h) know of the
// kernel's numbers.
#pragma once

#include <linux/seccomp.h>
#include <sys/stat.h>

#include <cstdint>
#include <initializer_list>

namespace cordon {

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

}  // namespace cordon
