#include "compat/engine/oci_account.h"

namespace cordon {

void account_bundle_network(const Effective& effective, LossReport& report) {
  switch (effective.net.mode) {
    case NetMode::None:
      return report.carried("net.mode", "a network namespace with nothing but loopback");
    case NetMode::Allow:
      return report.left_out(
          "net.allow", "a bundle has no broker that judges names: nothing but loopback is reached");
    case NetMode::Open:
      return report.carried("net.mode", "the network of the host");
  }
}

void account_bundle_limits(const Effective& effective, const Caller& caller, LossReport& report) {
  const Limits& limits = effective.limits;
  const bool rootless = caller.uid != 0;
  const bool group_required = !may_be_missing(effective, Layer::Cgroup);
  if (rootless && group_required) {
    report.cannot_hold_layer(Layer::Cgroup,
                             "started by another user than root a runtime goes without a control "
                             "group where none is delegated, and says nothing");
  }
  constexpr const char* kGroup =
      "a control group that the runtime makes; nothing inside can see whether it made one, and "
      "crun --cgroup-manager=disabled makes none";
  if (limits.wall_ms) report.carried("limits.wall", "the clock of cordon-inside; status 124");
  if (limits.cpu_ms) report.carried("limits.cpu", "RLIMIT_CPU");
  if (limits.files) report.carried("limits.files", "RLIMIT_NOFILE");
  if (limits.file_size) report.carried("limits.file_size", "RLIMIT_FSIZE");
  if (limits.pids && rootless) {
    report.carried("limits.pids", "RLIMIT_NPROC, counted in the container's user namespace");
  } else if (limits.pids) {
    report.weakened("limits.pids", kGroup);
  }
  constexpr const char* kNoGroup =
      "only a control group holds it, and a runtime that is not started by root has none";
  if (limits.memory && rootless) {
    report.cannot_hold("limits.memory", kNoGroup);
  } else if (limits.memory) {
    report.weakened("limits.memory", kGroup);
  }
  if (limits.cpus_milli && rootless) {
    report.cannot_hold("limits.cpus", kNoGroup);
  } else if (limits.cpus_milli) {
    report.weakened("limits.cpus", kGroup);
  }
}

}  // namespace cordon
