// A property that does not hold ends the fuzzer, in every build.
#pragma once

#include <cstdlib>

namespace cordon {

inline void require_that(bool holds) {
  if (!holds) std::abort();
}

}  // namespace cordon
