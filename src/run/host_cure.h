// What to change on this distribution so that a probe of the host passes. doctor prints it, and a
// run that is refused because the host refuses a mechanism names it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/native/probe.h"
#include "host/cgroup.h"
#include "host/host_settings.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// `probes`: all that were made, for a cause that only the others tell.
std::string cure_for(const native::Probe& probe, const std::vector<native::Probe>& probes,
                     const HostSettings& settings);
// `idle`: the caller's own group, if it could hand controllers on and does not.
std::string cgroup_cure(const HostSettings& settings, const std::optional<IdleGroup>& idle);
// Refuses a policy that requires cgroup limits where there is none, with that cure. The plans
// refuse it too, and know the cure of no host.
Result<void> refuse_without_cgroup(const Effective& effective, const HostFacts& facts);

}  // namespace cordon
