#include "sandbox/landlock/landlock_backend.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string>
#include <variant>

#include "base/check.h"
#include "plan/limits.h"
#include "sandbox/native/confine.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/probe.h"
#include "sandbox/native/protocol.h"
#include "sys/calls.h"
#include "sys/landlock.h"

namespace cordon::landlock {
namespace {

// Whoever kills Cordon by its name is not to kill what cleans up after it.
constexpr char kName[] = "sandbox-guard";

constexpr int kLifetimeFd = 0;
constexpr int kInitFd = 1;

[[noreturn]] void give_up(int channel, int error) {
  native::Message message;
  message.kind = native::Message::Kind::Failed;
  message.stage = native::Stage::Build;
  message.error = error;
  (void)::send(channel, &message, sizeof message, MSG_NOSIGNAL);
  ::_exit(125);
}

// The lifetime pipe and the init, and nothing else of the caller's.
void arrange(int lifetime_pipe, int pidfd) {
  const int high_lifetime_pipe = ::fcntl(lifetime_pipe, F_DUPFD_CLOEXEC, 64);
  const int high_pidfd = ::fcntl(pidfd, F_DUPFD_CLOEXEC, 64);
  const bool placed = ::dup3(high_lifetime_pipe, kLifetimeFd, O_CLOEXEC) >= 0 &&
                      ::dup3(high_pidfd, kInitFd, O_CLOEXEC) >= 0;
  const bool closed = sys::close_range(kInitFd + 1, UINT_MAX) == 0;
  // Without them it does at once what it would do at the end.
  if (!placed || !closed) ::close(kLifetimeFd);
}

void wait_for_an_end() {
  pollfd polled[] = {{kLifetimeFd, POLLIN, 0}, {kInitFd, POLLIN, 0}};
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
}

// One call for all: a process that is being made when it comes is either killed or never made.
[[noreturn]] void end_everything() {
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

void guarded_sandbox_init(const native::Prepared& prepared, const native::SandboxInitFds& fds) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Ignored by the caller, it would be inherited and make every wait answer ECHILD.
  ::sigaction(SIGCHLD, &action, nullptr);
  // Out of the reach of signals to the caller's group.
  ::setsid();
  if (const int error = native::scope_processes(); error < 0) give_up(fds.channel, -error);
  const sys::CloneResult first = sys::clone_process(0, -1);
  if (first.pid == 0) native::run_sandbox_init(prepared, fds, native::carry_out);
  if (first.pid < 0) give_up(fds.channel, -first.pid);
  (void)::prctl(PR_SET_NAME, kName, 0UL, 0UL, 0UL);
  (void)sys::drop_own_capabilities();
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  arrange(fds.lifetime_pipe, first.pidfd);
  wait_for_an_end();
  end_everything();
}

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

namespace {

Error refused(const std::string& what, int error_number) {
  return {.kind = ErrorKind::Unavailable,
          .what = "this host refuses " + what,
          .hint = "backend landlock needs Linux 6.12 or newer with lsm=landlock,...",
          .error_number = error_number};
}

// A copy of this process in the host's own namespaces, which keeps the first process.
class GuardedLauncher final : public native::NamespaceLauncher {
 public:
  [[nodiscard]] Result<native::Started> start(const native::Start& asked) const override {
    const sys::CloneResult cloned = sys::clone_process(0, asked.cgroup);
    if (cloned.pid == 0) guarded_sandbox_init(asked.prepared, asked.fds);
    if (cloned.pid < 0) return fail(setup_error("cannot start the guard", -cloned.pid));
    return native::Started{cloned, false};
  }
  [[nodiscard]] Result<Enforcement> verify(const Plan& plan, const native::Measured& measured,
                                           const native::NamespaceIds& /*outside*/) const override {
    return landlock::verify(plan, measured);  // there are no namespaces to compare
  }
  [[nodiscard]] bool has_lifetime_pipe() const override { return true; }
};

}  // namespace

Result<std::unique_ptr<Building>> build_landlock(const Plan& plan, const HostFacts& facts,
                                                 const std::string& run_id,
                                                 const CommandStreams& streams) {
  return native::build_in(std::make_unique<GuardedLauncher>(), plan, facts, run_id, streams);
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
