#include "backend/landlock/verify.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <variant>

#include "base/check.h"

namespace cordon::landlock {
namespace {

constexpr int kFilterMode = 2;

Error not_in_force(const std::string& layer) {
  return setup_error("layer " + layer + " is not in force inside the sandbox", 0,
                     "the command was not started; cordon doctor shows what this host enforces");
}

// The bounding set gives nothing by itself, and with no_new_privs nothing is ever taken from it.
bool has_no_capability(const native::Measured& measured, bool bounding) {
  constexpr std::size_t kBoundingSet = 3;
  for (std::size_t i = 0; i < measured.capabilities.size(); ++i) {
    if ((bounding || i != kBoundingSet) && measured.capabilities[i] != 0) return false;
  }
  return true;
}

template <typename T>
const T& find(const std::vector<Op>& operations) {
  const auto found = std::ranges::find_if(
      operations, [](const Op& operation) { return std::holds_alternative<T>(operation); });
  CORDON_ASSERT(found != operations.end());
  return std::get<T>(*found);
}

}  // namespace

Result<Enforcement> verify(const Plan& plan, const native::Measured& measured) {
  const NetMode net = find<op::InstallSeccomp>(plan.confine).net;
  Enforcement found;
  found.backend = name_of(plan.backend);
  // What could be read before the restriction and cannot after it, and a parent that could be
  // signalled: nothing else changed in between.
  found.landlock = measured.landlock_read_before == 0 && measured.landlock_read == EACCES &&
                   measured.landlock_signal == EPERM;
  found.landlock_abi = found.landlock ? find<op::RestrictLandlock>(plan.confine).abi : 0;
  // A container may have brought a filter of its own.
  found.seccomp = measured.seccomp_mode == kFilterMode && measured.seccomp_filters != 0 &&
                  measured.filtered_call == EPERM;
  found.cap_drop = has_no_capability(measured, find<op::DropCapabilities>(plan.confine).bounding);
  found.no_new_privs = measured.no_new_privileges == 1;
  found.network = name_of(net);
  for (const PlannedLimit& limit : plan.limits) found.limits[limit.name] = name_of(limit.by);
  for (const Layer layer : plan.missing) found.missing.emplace_back(name_of(layer));
  found.lost = plan.lost;

  if (!found.landlock) return fail(not_in_force("landlock"));
  if (!found.seccomp) return fail(not_in_force("seccomp"));
  if (!found.cap_drop) return fail(not_in_force("capabilities"));
  if (!found.no_new_privs) return fail(not_in_force("no_new_privs"));
  // No empty network stands behind the filter.
  const bool closed = measured.refused_socket == EPERM && measured.tcp_bind == EACCES;
  if (net != NetMode::Open && !closed) return fail(not_in_force("network"));
  return found;
}

}  // namespace cordon::landlock
