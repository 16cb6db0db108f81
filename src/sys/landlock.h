// Landlock system calls with our own copies of the constants: the distribution's header may be
// older than the running kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cordon::sys {

namespace landlock {
inline constexpr std::uint64_t kExecute = 1ULL << 0;
inline constexpr std::uint64_t kWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kReadFile = 1ULL << 2;
inline constexpr std::uint64_t kReadDir = 1ULL << 3;
inline constexpr std::uint64_t kRemoveDir = 1ULL << 4;
inline constexpr std::uint64_t kRemoveFile = 1ULL << 5;
inline constexpr std::uint64_t kMakeChar = 1ULL << 6;
inline constexpr std::uint64_t kMakeDir = 1ULL << 7;
inline constexpr std::uint64_t kMakeReg = 1ULL << 8;
inline constexpr std::uint64_t kMakeSock = 1ULL << 9;
inline constexpr std::uint64_t kMakeFifo = 1ULL << 10;
inline constexpr std::uint64_t kMakeBlock = 1ULL << 11;
inline constexpr std::uint64_t kMakeSym = 1ULL << 12;
inline constexpr std::uint64_t kRefer = 1ULL << 13;     // ABI 2
inline constexpr std::uint64_t kTruncate = 1ULL << 14;  // ABI 3
inline constexpr std::uint64_t kIoctlDev = 1ULL << 15;  // ABI 5

inline constexpr std::uint64_t kBindTcp = 1ULL << 0;     // ABI 4
inline constexpr std::uint64_t kConnectTcp = 1ULL << 1;  // ABI 4

inline constexpr std::uint64_t kScopeAbstractUnix = 1ULL << 0;  // ABI 6
inline constexpr std::uint64_t kScopeSignal = 1ULL << 1;        // ABI 6

// Rights that may be given to a file that is not a directory.
inline constexpr std::uint64_t kFileRights =
    kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;

// Every file-system right an ABI knows.
constexpr std::uint64_t file_rights(int abi) {
  std::uint64_t rights = (1ULL << 13) - 1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}
constexpr std::uint64_t scopes(int abi) {
  return abi >= 6 ? (kScopeAbstractUnix | kScopeSignal) : 0;
}
}  // namespace landlock

// The highest ABI the running kernel answers; 0 if Landlock is absent, disabled or filtered.
int landlock_abi();
// Bit mask of the errata fixed in the running kernel; 0 if it cannot tell.
std::uint32_t landlock_errata();

// Async-signal-safe; a negative result is -errno.
// `net_rights` are only for an ABI that knows them.
int landlock_create_ruleset(std::uint64_t file_rights, std::uint64_t scopes,
                            std::uint64_t net_rights);
int landlock_add_path(int ruleset, int path, std::uint64_t rights);
int landlock_restrict_self(int ruleset);

}  // namespace cordon::sys
