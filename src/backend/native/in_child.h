// What processes of a sandbox do that began as copies of the caller's. No allocation.
#pragma once

#include <cstdint>

namespace cordon::native {

// The caller's handlers are gone, but what it ignored or blocked would still be inherited.
void default_signals();

struct TreeUsage {
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};
// In the first process of a pid namespace: kills and reaps everything else in it, every orphan
// being its child. False if something may still live.
bool end_the_rest(TreeUsage& used);

}  // namespace cordon::native
