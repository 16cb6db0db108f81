// The dimensions of clamp(), one function each. Every one writes its part of the effective policy
// and appends what it took away. Private to the clamp.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "policy/effective.h"

namespace cordon::detail {

using Ceilings = std::span<const ResolvedCeiling>;
using Reductions = std::vector<Reduction>;

void clamp_paths(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions);
// Denies accumulate; private parts of the view (scratch, home, caches), trust in tracked files and
// staging take the stricter.
void clamp_view(const Resolved& request, Ceilings ceilings, Effective& result,
                Reductions& reductions);
void clamp_net(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions);
void clamp_sockets(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions);
void clamp_env(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions);
void clamp_limits(const Resolved& request, Ceilings ceilings, Effective& result,
                  Reductions& reductions);
void clamp_layers(const Resolved& request, Ceilings ceilings, Effective& result);
// Names that anybody protects are protected; one is released only if every ceiling releases it.
void clamp_protect(const Resolved& request, Ceilings ceilings, Effective& result);
// A login is shared only if every ceiling says so, for this agent or for any.
void clamp_agent(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions);

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace cordon::detail
