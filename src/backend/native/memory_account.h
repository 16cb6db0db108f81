// MemoryAccount: what the kernel counted of memory in a run's group, and whose limit it was that
// killed. A kill of a group's process is counted in that group whoever ran out of memory: the group
// itself, one above it, or the machine. Only a group that met its own bound counts that too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cordon/outcome.h"

namespace cordon::native {

enum class MemoryKill {
  None,         // also where a neighbour was killed, or the bound was met and reclaiming sufficed
  AtOwnBound,   // the run's limit
  FromOutside,  // somebody else's limit, which took processes of the run
};

struct MemoryAccount {
  std::uint64_t bound_met = 0;  // times that the group could get no more at its own bound
  std::uint64_t killed = 0;     // processes of the group, for whichever limit

  [[nodiscard]] MemoryKill kill() const;
  auto operator<=>(const MemoryAccount&) const = default;
};

// The number after "name " in a flat keyed file of the kernel's; zero if it is not there.
std::uint64_t keyed_number(std::string_view text, std::string_view name);

// Of v2's memory.events.
MemoryAccount account_of_events(std::string_view events);
// Of v1's memory.oom_control, memory.limit_in_bytes, and the most that was used of memory and of
// memory with swap, where that is counted. v1 does not count when a bound is met; a group that
// never used what it may was not killed for it.
MemoryAccount account_of_oom_control(std::string_view control, std::string_view limit,
                                     std::string_view peak, std::string_view peak_with_swap);

// For the report; `bound` is the limit as it is described.
std::optional<Denial> memory_denial(const MemoryAccount& account, const std::string& bound);

}  // namespace cordon::native
