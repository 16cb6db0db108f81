// PrivatePlaces: the private home and space of a run whose mechanism has no mounts. The host's own
// home and /tmp stay where they are, out of reach; variables lead elsewhere.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/shown_grants.h"

namespace cordon {

struct PrivatePlaces {
  std::string home;       // in place of the caller's; empty: the caller's own
  std::string temporary;  // in place of /tmp; empty: as it is
  std::string caches;     // empty: none
  // Those of them that there are.
  [[nodiscard]] std::vector<std::string> all() const;
};

// True if a grant covers `path`.
bool shows(const ShownGrants& grants, std::string_view path);

// Adds to the plan what makes them, and the bound of the private space.
PrivatePlaces plan_private_places(const Effective& effective, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request,
                                  const ShownGrants& grants, Plan& plan);

// The command of the request, with variables that lead to the places.
void plan_command_among(const PrivatePlaces& places, const Effective& effective,
                        const Caller& caller, const PlanRequest& request, Plan& plan);

}  // namespace cordon
