// Where the hierarchy of cgroup v2 lets the caller make groups.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

// A group that the caller may write and that hands no controllers on, as none can that has
// processes in it; and the controllers that it could hand on. Of no use as it is.
struct IdleGroup {
  std::string path;
  std::vector<std::string> controllers;
};

struct UnifiedGroups {
  CgroupFacts facts;
  std::optional<IdleGroup> idle;  // only where the facts name no group to make others in
};

// The caller is in the group `own` of the hierarchy at `mount`. Groups are made in the nearest one
// at or above that which hands memory and pids on and which the caller may write, cgroup.procs
// included: being born in a group takes the right to move between it and one's own. Nobody is moved
// and no controller is switched on to get one.
UnifiedGroups unified_groups(const std::string& mount, std::string_view own);

// The same of this process and this machine; nothing where there is no v2.
std::optional<IdleGroup> idle_group();

}  // namespace cordon
