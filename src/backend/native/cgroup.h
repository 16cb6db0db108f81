// A cgroup of one run, v1 or v2: made before the command exists, removed after the tree is dead.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "cordon/result.h"
#include "plan/plan.h"

namespace cordon::native {

// The directories a run's groups would have, to be noted before they are made.
std::vector<std::string> cgroup_directories(const Plan& plan, const CgroupFacts& facts,
                                            const std::string& run_id);

// How many v1 groups the limits of `plan` need.
std::size_t v1_groups(const Plan& plan);

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
  // From then on oom_descriptor() tells, if the kernel lets it; what came before is in events().
  void watch_memory();
  [[nodiscard]] bool holds_memory() const;
  // Becomes readable (v1) or has an exceptional condition (v2) when the memory bound kills.
  [[nodiscard]] int oom_descriptor() const { return oom_event_.get(); }

  struct Events {
    std::uint64_t oom_kills = 0;
    std::uint64_t pids_refused = 0;
    std::optional<std::uint64_t> peak_memory;
  };
  [[nodiscard]] Events events() const;
  // Removes the groups; waits a moment for the kernel to let go of them.
  void remove();

 private:
  struct Group {
    std::string controller;  // empty: v2
    std::string directory;
  };
  [[nodiscard]] const Group* find(const std::string& controller) const;

  std::vector<Group> groups_;
  Fd birth_;
  std::vector<Fd> joins_;
  Fd oom_control_;
  Fd oom_event_;
};

}  // namespace cordon::native
