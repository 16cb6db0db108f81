// NativePlanner: writes the plan of the native backend, operation by operation, in the order in
// which the kernel is asked. What is granted is in native_grants.cc, what is hidden and held in
// native_holds.cc, the rest in native_plan.cc.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/path.h"
#include "plan/limits.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "plan/view.h"
#include "policy/decide.h"

namespace cordon {

// Below /dev nothing can be granted, so that no grant covers it.
inline constexpr std::string_view kGitDirectory = "/dev/cordon/git";
// Below the private directory of the run.
inline constexpr std::string_view kConfigCopies = "git";

// Used once: a plan is made, and the planner is done with.
class NativePlanner {
 public:
  NativePlanner(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                const PlanRequest& request)
      : effective_(clamped.effective()),
        facts_(facts),
        caller_(caller),
        request_(request),
        tree_(plan_.build) {}

  Result<Plan> make();

 private:
  Result<void> refuse_unenforceable() const;
  [[nodiscard]] bool is_brokered() const {
    return facts_.answers_calls || effective_.net.mode == NetMode::Allow;
  }
  // Without the network it knows no name; what was asked for is told.
  [[nodiscard]] bool has_resolver() const {
    return is_brokered() && effective_.net.mode != NetMode::Open;
  }
  void system();
  void proc_and_devices();
  void scratch();
  Result<void> grants();
  [[nodiscard]] Result<void> refuse_over_system(const Grant& grant) const;
  void ways_to_grants();
  // Homes and grants that are reached through a symlink outside have that name inside as well.
  void links_to_grants();
  // A policy without any file of its own gets what loading a program needs, and nothing else.
  [[nodiscard]] bool grants_nothing() const {
    return effective_.read.empty() && effective_.write.empty() && !effective_.scratch;
  }
  // An explicit grant shows the real thing; the private part is what remains.
  [[nodiscard]] bool granted(std::string_view path) const {
    const auto shown = [&](const Grant& grant) { return shows(grant.path, path, facts_); };
    return std::ranges::any_of(read_, shown) || std::ranges::any_of(write_, shown);
  }
  [[nodiscard]] bool has_private_home() const {
    return effective_.home == HomeMode::Private && effective_.scratch && !caller_.home.empty() &&
           !granted(caller_.home);
  }
  [[nodiscard]] bool has_persistent_home() const {
    return effective_.home == HomeMode::Persistent && !caller_.home.empty() &&
           !granted(caller_.home);
  }
  [[nodiscard]] bool has_caches() const {
    return effective_.caches && !caller_.home.empty() && !granted(caller_.home);
  }
  [[nodiscard]] bool is_frozen(std::string_view path) const;
  [[nodiscard]] bool is_masked(std::string_view path) const;
  [[nodiscard]] bool is_staged() const { return !request_.stage_directory.empty(); }
  // Whether the top of the repository around the current directory is granted beside a stage.
  [[nodiscard]] bool stages_part_of_repository() const {
    return is_staged() && std::ranges::any_of(effective_.read, [&](const Grant& grant) {
             return grant.source == Grant::Source::Repository && contains(grant.path, plan_.cwd);
           });
  }
  // Whether the overlay of a writable grant shows `path`.
  [[nodiscard]] bool lies_in_stage(std::string_view path) const;
  void stage(const Grant& grant);
  void show_frozen(const Frozen& frozen);
  // The part of a grant of "/" that the sandbox does not have of its own.
  [[nodiscard]] std::vector<SystemEntry> shown_root_entries() const;
  // Private and writable: the mount and the Landlock rule come from the same word.
  void own_scratch(const std::string& name, const std::string& path, unsigned mode);
  void own_persistent(const std::string& source, const std::string& path);
  void masks();
  // A copy of the run's own, or read-only.
  void hold(const Held& held, std::string reason);
  // Whether a run may see another version of it than the host's.
  [[nodiscard]] bool may_be_written(const Held& held) const;
  [[nodiscard]] bool may_be_copied(const Held& held) const;
  [[nodiscard]] bool has_mounts_below(const std::string& path) const;
  void holds();
  void git();
  // The certificates of a run with rules for requests, also in the place of the host's.
  void trust();
  void finish_build();
  void landlock();
  void command();
  Result<void> confine();
  [[nodiscard]] bool needs_private_configs() const;
  void allow(const std::string& path, LandlockUse use, FileKind kind);
  [[nodiscard]] bool landlocked() const { return facts_.landlock_abi > 0; }

  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  const PlanRequest& request_;
  Plan plan_;
  Tree tree_;
  std::vector<Grant> read_;
  std::vector<Grant> write_;
  op::MapIdentity inside_;
  std::vector<std::string> own_writable_;
  std::size_t copies_ = 0;
  std::vector<std::string> staged_;  // paths of grants that are overlays
  std::vector<std::pair<std::string, LandlockUse>> allowed_;
};

}  // namespace cordon
