// ShownGrants: the grants of a policy that no mask hides. What is below a masked directory is
// masked with it, in every backend.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace cordon {

struct ShownGrants {
  std::vector<Grant> read;
  std::vector<Grant> write;
};
// What is hidden is told in `plan`.
ShownGrants shown_grants(const Effective& effective, const HostFacts& facts, Plan& plan);

}  // namespace cordon
