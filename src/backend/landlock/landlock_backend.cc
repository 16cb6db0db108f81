#include "backend/landlock/landlock_backend.h"

#include "backend/landlock/guard.h"
#include "backend/landlock/verify.h"
#include "backend/native/native_backend.h"
#include "backend/native/probe.h"
#include "sys/landlock.h"

namespace cordon::landlock {
namespace {

constexpr int kAbiWithScopes = 6;

Error refused(const std::string& what, int error_number) {
  return {.kind = ErrorKind::Unavailable,
          .what = "this host refuses " + what,
          .hint = "backend landlock needs Linux 6.12 or newer with lsm=landlock,...",
          .error_number = error_number};
}

}  // namespace

Result<std::unique_ptr<Child>> launch_landlock(const Plan& plan, const HostFacts& facts,
                                               const std::string& run_id,
                                               const CommandStreams& streams) {
  const native::Machinery machinery{0, guarded_first_process, verify, true};
  return native::launch_by(machinery, plan, facts, run_id, streams);
}

Result<Capabilities> probe_landlock() {
  if (sys::landlock_abi() < kAbiWithScopes) return fail(refused("Landlock ABI 6", 0));
  for (const native::Probe& probe : native::probe_kernel()) {
    const bool needed = probe.name == "no-new-privileges" || probe.name == "landlock" ||
                        probe.name == "seccomp" || probe.name == "seccomp-listener";
    if (needed && !probe.ok) return fail(refused(probe.name, probe.error_number));
  }
  Capabilities capabilities;
  capabilities.backend = "landlock";
  capabilities.fs_read = true;
  capabilities.fs_write = true;
  capabilities.execute = true;
  capabilities.net_block = true;
  capabilities.environment_scrub = true;
  capabilities.tree_kill = true;
  capabilities.pid_limit = true;
  capabilities.memory_limit = true;
  capabilities.syscalls = true;
  return capabilities;
}

}  // namespace cordon::landlock
