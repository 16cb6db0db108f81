// A cgroup of one run, v1 or v2: made before the command exists, removed after the tree is dead.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "plan/plan.h"
#include "sandbox/backend.h"

namespace cordon::native {

// MemoryAccount: what the kernel counted of memory in a run's group, and whose limit it was that
// killed. A kill of a group's process is counted in that group whoever ran out of memory: the group
// itself, one above it, or the machine. Only a group that met its own bound counts that too.

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

// The directories a run's groups would have, to be noted before they are made.
std::vector<std::string> cgroup_directories(const Plan& plan, const CgroupFacts& facts,
                                            const std::string& run_id);

// The name, before the run's id, of the groups that an OCI runtime makes for the container of a
// run.
inline constexpr const char* kRuntimeGroup = "cordon-oci-";
// The groups of this process in every hierarchy: a runtime that it starts makes its own in them.
std::vector<std::string> own_groups();

// How many v1 groups the limits of `plan` need.
std::size_t v1_groups(const Plan& plan);

// Processor time for each period, as the kernel bounds it.
struct CpuBandwidth {
  std::uint64_t quota_us = 0;
  std::uint64_t period_us = 0;
};
CpuBandwidth cpu_bandwidth(std::uint64_t thousandths_of_a_processor);

// Kills what is in a group, where the kernel can do that for the group as a whole (v2, 5.14): no
// process outruns it by forking. False where it cannot.
bool kill_group(const std::string& directory);
// Removes a group; waits a moment for the last processes, which may still be on their way out of it
// when they were reaped. False if the group is still there.
bool remove_group(const std::string& directory);

class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(Cgroup&&) = default;
  Cgroup& operator=(Cgroup&&) = default;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  // Makes the groups that the limits of `plan` need; none if they need none.
  static Result<Cgroup> make(const Plan& plan, const CgroupFacts& facts, const std::string& run_id);

  // v2: the group to be born in; negative otherwise.
  [[nodiscard]] int birth_descriptor() const { return birth_.get(); }
  // v2: the first process was born in the group, so it can only be removed after it is gone.
  [[nodiscard]] bool holds_sandbox_init() const { return birth_.valid(); }
  // v1: the command's process writes "0" to each of these. Moving oneself is the only way that does
  // not wait for every other fork on the machine: any other write to a v1 group takes a global lock
  // that costs milliseconds.
  [[nodiscard]] const std::vector<Fd>& join_descriptors() const { return joins_; }
  [[nodiscard]] bool holds_memory() const;
  // See Child. v2 tells of every change to the counters, and until the file is read on the same
  // descriptor; POLLIN means nothing there, a file of the kernel's is always readable. v1 tells
  // before it kills: from then on one has to look.
  void watch_memory();
  [[nodiscard]] PolledFor memory_news() const;
  bool memory_killed();

  struct Events {
    MemoryAccount memory;
    std::uint64_t pids_refused = 0;
    std::optional<std::uint64_t> peak_memory;
  };
  [[nodiscard]] Events events() const;
  // v2: ends every process in the group at once; false where the kernel cannot.
  [[nodiscard]] bool kill() const;
  void remove();

 private:
  struct Group {
    std::string controller;  // empty: v2
    std::string directory;
  };
  [[nodiscard]] const Group* find(const std::string& controller) const;
  [[nodiscard]] MemoryAccount account(const Group& memory) const;

  std::vector<Group> groups_;
  Fd birth_;
  std::vector<Fd> joins_;
  bool watches_memory_ = false;
  Fd oom_control_;   // v1
  Fd memory_event_;  // v1: an eventfd; v2: memory.events
};

}  // namespace cordon::native
