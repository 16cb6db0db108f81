#include "backend/native/verify.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <variant>

#include "plan/landlock_abi.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

constexpr std::size_t kNetNamespace = 3;
constexpr int kFilterMode = 2;

template <typename T>
const T* find(const std::vector<Op>& operations) {
  for (const Op& operation : operations) {
    if (const T* found = std::get_if<T>(&operation)) return found;
  }
  return nullptr;
}

bool namespaces_as_planned(const Measured& measured, const NamespaceIds& outside,
                           bool own_network) {
  for (std::size_t i = 0; i < outside.size(); ++i) {
    const bool separate = measured.namespaces[i] != 0 && measured.namespaces[i] != outside[i];
    const bool wanted = i != kNetNamespace || own_network;
    if (separate != wanted) return false;
  }
  return true;
}

bool landlock_in_force(const Measured& measured, int abi) {
  // The probe file could be read before the restriction and cannot after it: nothing else changed.
  const bool files = measured.landlock_read_before == 0 && measured.landlock_read == EACCES;
  const bool scopes = abi < kAbiWithScopes || measured.landlock_signal == EPERM;
  return files && scopes;
}

Error not_in_force(const std::string& layer) {
  return setup_error("layer " + layer + " is not in force inside the sandbox", 0,
                     "the command was not started; cordon doctor shows what this host enforces");
}

}  // namespace

Result<Enforcement> verify(const Plan& plan, const Measured& measured,
                           const NamespaceIds& outside_namespaces) {
  const auto* namespaces = find<op::EnterNamespaces>(plan.build);
  const auto* landlock = find<op::RestrictLandlock>(plan.confine);
  const auto* seccomp = find<op::InstallSeccomp>(plan.confine);
  Enforcement found;
  found.backend = name_of(plan.backend);
  found.namespaces = namespaces_as_planned(measured, outside_namespaces, namespaces->own_network);
  found.pivot_root = measured.root_type == sys::kTmpfsMagic && measured.root_read_only == 1;
  found.bind_mounts = measured.mounts_checked > 0 && measured.wrong_mount < 0;
  found.landlock = landlock != nullptr && landlock_in_force(measured, landlock->abi);
  found.landlock_abi = found.landlock ? landlock->abi : 0;
  found.seccomp = measured.seccomp_mode == kFilterMode && measured.seccomp_filters != 0;
  found.cap_drop = std::ranges::all_of(measured.capabilities, [](auto set) { return set == 0; });
  found.no_new_privs = measured.no_new_privileges == 1;
  found.network = name_of(seccomp->net);
  for (const PlannedLimit& limit : plan.limits) found.limits[limit.name] = name_of(limit.by);
  for (const Layer layer : plan.missing) found.missing.emplace_back(name_of(layer));
  found.lost = plan.lost;
  if (measured.inotify_bound == 0) found.lost.push_back(Loss::Inotify);

  if (!found.namespaces) return fail(not_in_force("namespaces"));
  if (!found.pivot_root) return fail(not_in_force("new root"));
  if (!found.bind_mounts) {
    Error error = not_in_force("mounts");
    if (measured.wrong_mount >= 0) {
      error.operation = describe(plan.build[static_cast<std::size_t>(measured.wrong_mount)]);
    }
    return fail(std::move(error));
  }
  if (landlock != nullptr && !found.landlock) return fail(not_in_force("landlock"));
  if (!found.seccomp) return fail(not_in_force("seccomp"));
  if (!found.cap_drop) return fail(not_in_force("capabilities"));
  if (!found.no_new_privs) return fail(not_in_force("no_new_privs"));
  return found;
}

Result<void> verify_begun(const Plan& plan, const Measured& measured,
                          const NamespaceIds& outside_namespaces) {
  const auto* namespaces = find<op::EnterNamespaces>(plan.build);
  // Ids that could not be read outside would differ from all others.
  const bool known = std::ranges::all_of(outside_namespaces, [](auto id) { return id != 0; });
  if (namespaces == nullptr || !known ||
      !namespaces_as_planned(measured, outside_namespaces, namespaces->own_network)) {
    return fail(not_in_force("namespaces"));
  }
  if (measured.root_type != sys::kTmpfsMagic) return fail(not_in_force("new root"));
  return {};
}

}  // namespace cordon::native
