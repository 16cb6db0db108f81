// A backend whose runs leave nothing behind but the cgroups of native's limits.
#pragma once

#include "backend/backend.h"
#include "backend/native/cgroup.h"

namespace cordon::native {

class GroupedBackend : public Backend {
 public:
  [[nodiscard]] std::vector<std::string> leftovers(const Plan& plan, const HostFacts& facts,
                                                   const std::string& run_id) const override {
    return cgroup_directories(plan, facts.cgroup, run_id);
  }
};

}  // namespace cordon::native
