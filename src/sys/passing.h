// One message over a local socket with descriptors beside it. No allocation.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>

namespace cordon::sys {

inline constexpr std::size_t kMostPassed = 4;

struct Passed {
  std::array<int, kMostPassed> descriptors{};  // close on exec
  std::size_t count = 0;
};

// Bytes sent, or negative with errno.
ssize_t send_passing(int socket, const void* data, std::size_t size, std::span<const int> passed);
// Bytes received, or negative with errno; interrupted calls are repeated.
ssize_t receive_passing(int socket, void* data, std::size_t size, Passed& passed);

}  // namespace cordon::sys
