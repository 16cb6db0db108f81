// sys/landlock.cc as on an older kernel: CORDON_LANDLOCK_ABI is the newest ABI that it speaks of.
// Rights that are not asked for are not checked, so that a run has exactly what such a kernel
// gives. Part of the test build alone.
#include <algorithm>
#include <cstdlib>
#include <string>

// The product's own functions, with the one that is asked for the version under another name.
#define landlock_abi kernels_landlock_abi
#include "sys/landlock.cc"
#undef landlock_abi

namespace cordon::sys {

int landlock_abi();

int landlock_abi() {
  const char* cap = std::getenv("CORDON_LANDLOCK_ABI");
  return cap == nullptr ? kernels_landlock_abi() : std::min(kernels_landlock_abi(), std::atoi(cap));
}

}  // namespace cordon::sys
