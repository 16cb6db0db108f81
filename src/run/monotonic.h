// The clock that limits and deadlines are measured with: stepping the wall clock does not move it.
#pragma once

#include <time.h>

#include <cstdint>

namespace cordon {

inline std::uint64_t monotonic_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

}  // namespace cordon
