// What a system call answered, as the wrappers of this folder pass it on: failure is -errno.
// Async-signal-safe; allocates nothing.
#pragma once

#include <cerrno>

namespace cordon::sys {

// The result itself.
inline int value_or_errno(long result) { return result < 0 ? -errno : static_cast<int>(result); }
// Zero for every success.
inline int zero_or_errno(long result) { return result < 0 ? -errno : 0; }

}  // namespace cordon::sys
