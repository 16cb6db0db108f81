// A cgroup of one run, v1 or v2: made before the command exists, removed after the tree is dead.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/native/memory_account.h"
#include "base/fd.h"
#include "base/result.h"
#include "plan/plan.h"

namespace cordon::native {

// The directories a run's groups would have, to be noted before they are made.
std::vector<std::string> cgroup_directories(const Plan& plan, const CgroupFacts& facts,
                                            const std::string& run_id);

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
  [[nodiscard]] bool holds_first_process() const { return birth_.valid(); }
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
  [[nodiscard]] static MemoryAccount account(const Group& memory);

  std::vector<Group> groups_;
  Fd birth_;
  std::vector<Fd> joins_;
  bool watches_memory_ = false;
  Fd oom_control_;   // v1
  Fd memory_event_;  // v1: an eventfd; v2: memory.events
};

}  // namespace cordon::native
