#include "backend/landlock/landlock_backend.h"

#include "backend/landlock/guard.h"
#include "backend/landlock/verify.h"
#include "backend/native/native_backend.h"
#include "backend/native/probe.h"
#include "plan/landlock_abi.h"
#include "sys/landlock.h"

namespace cordon::landlock {
namespace {

Error refused(const std::string& what, int error_number) {
  return {.kind = ErrorKind::Unavailable,
          .what = "this host refuses " + what,
          .hint = "backend landlock needs Linux 6.12 or newer with lsm=landlock,...",
          .error_number = error_number};
}

// A copy of this process in the host's own namespaces, which keeps the first process.
class Guarded final : public native::Outer {
 public:
  [[nodiscard]] Result<native::Started> start(const native::Start& asked) const override {
    const sys::CloneResult cloned = sys::clone_process(0, asked.cgroup);
    if (cloned.pid == 0) guarded_first_process(asked.prepared, asked.fds);
    if (cloned.pid < 0) return fail(setup_error("cannot start the guard", -cloned.pid));
    return native::Started{cloned, false};
  }
  [[nodiscard]] Result<Enforcement> verify(const Plan& plan, const native::Measured& measured,
                                           const native::NamespaceIds& /*outside*/) const override {
    return landlock::verify(plan, measured);  // there are no namespaces to compare
  }
  [[nodiscard]] bool is_leashed() const override { return true; }
};

}  // namespace

Result<std::unique_ptr<Child>> launch_landlock(const Plan& plan, const HostFacts& facts,
                                               const std::string& run_id,
                                               const CommandStreams& streams) {
  return native::launch_in(Guarded(), plan, facts, run_id, streams);
}

Result<Capabilities> probe_landlock() {
  if (sys::landlock_abi() < kAbiWithScopes) return fail(refused("Landlock ABI 6", 0));
  for (const native::Probe& probe : native::probe_layers()) {
    if (!probe.ok) return fail(refused(probe.name, probe.error_number));
  }
  Capabilities capabilities;
  capabilities.backend = BackendKind::Landlock;
  capabilities.fs_read = true;
  capabilities.fs_write = true;
  capabilities.execute = true;
  capabilities.net_block = true;
  capabilities.net_allow = true;
  capabilities.network_host_filtering = true;
  capabilities.environment_scrub = true;
  capabilities.tree_kill = true;
  capabilities.pid_limit = true;
  capabilities.memory_limit = true;
  capabilities.syscalls = true;
  return capabilities;
}

}  // namespace cordon::landlock
