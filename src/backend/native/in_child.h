// What processes of a sandbox do that began as copies of the caller's. No allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace cordon::native {

// The number of a limit by the name it has in a plan; -1 for a name that is none.
int resource_of(std::string_view name);

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
