#include "backend/mxc/mxc_backend.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backend/mxc/find.h"
#include "backend/mxc/launch.h"
#include "backend/mxc/pins.h"
#include "backend/mxc/platform.h"
#include "backend/mxc/verified.h"
#include "backend/native/grouped_backend.h"
#include "base/path.h"
#include "base/text.h"
#include "host/resolve.h"

namespace cordon::mxc {
namespace {

// Before 0.8 the executors show the whole disk; from 0.9 on they want another document.
Result<void> check_release(const Pin& pin) {
  if (pin.version == "0.8" || pin.version.starts_with("0.8.")) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "executors of version " + quote(pin.version) + " cannot be driven",
               .hint = "pin one of version 0.8: older ones show the whole disk, newer ones read "
                       "other documents"});
}

// An executor that the command could replace would be another one at the next run; the pin refuses
// that one, but the host would be without.
Result<void> refuse_writable(const std::string& path, const Effective& effective) {
  for (const Grant& grant : effective.write) {
    if (!contains(grant.path, path)) continue;
    return fail(
        {.kind = ErrorKind::Untrusted,
         .what = "executor " + quote(path) + " lies in the writable grant " + quote(grant.path),
         .hint = "install it elsewhere, or name another directory in MXC_BIN_DIR"});
  }
  return {};
}

Result<ExecutorChoice> choose(const Caller& caller, const Effective& effective) {
  const std::string key = pin_key(own_system(), own_machine());
  const auto found = find_executor(caller);
  if (!found) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "there is no MXC executor for " + key,
                 .hint = "npm install -g @microsoft/mxc-sdk@0.8.0, or name its directory in "
                         "MXC_BIN_DIR"});
  }
  CORDON_TRY(pins, read_pins(caller));
  CORDON_TRY(pin, pin_for(pins, key, caller));
  CORDON_CHECK(check_release(pin));
  CORDON_CHECK(check_way(found->path, caller));
  CORDON_TRY(real, canonicalize_existing(found->path, "/", caller));
  CORDON_CHECK(refuse_writable(real.path, effective));
  return ExecutorChoice{real.path, pin.sha256};
}

// An executor gives up at the first path of its document that the caller may not read.
Result<void> refuse_unreadable(const Plan& plan) {
  for (const Op& operation : plan.build) {
    const std::string* path = nullptr;
    if (const auto* bind = std::get_if<op::Bind>(&operation)) path = &bind->path;
    if (const auto* bind = std::get_if<op::BindSystem>(&operation)) path = &bind->path;
    if (path == nullptr || ::access(path->c_str(), R_OK) == 0 || errno != EACCES) continue;
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "path " + quote(*path) + " cannot be held by mxc: you may not read it",
                 .hint = "leave it out of the grants, or use --backend native"});
  }
  return {};
}

class Mxc final : public native::GroupedBackend {
 public:
  explicit Mxc(std::string program) : program_(std::move(program)) {}

  [[nodiscard]] BackendKind kind() const override { return BackendKind::Mxc; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    CORDON_TRY(caller, identify_caller());
    CORDON_TRY(chosen, choose(caller, Effective{}));
    CORDON_TRY(executor, verify_executor(chosen.path, chosen.sha256));
    Capabilities found;
    found.backend = kind();
    found.fs_read = true;
    found.fs_write = true;
    found.execute = true;
    found.net_block = true;
    found.net_allow = true;
    found.deny_paths_supported = true;
    found.environment_scrub = true;
    found.tree_kill = true;
    found.pid_limit = true;
    found.memory_limit = true;
    found.syscalls = true;
    return found;
  }

  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    if (program_.empty()) {
      return fail({.kind = ErrorKind::Unsupported,
                   .what = "backend mxc is not supported by the library",
                   .hint = "start the cordon command"});
    }
    CORDON_TRY(chosen, choose(caller, clamped.effective()));
    CORDON_TRY(made, make_mxc_plan(clamped, facts, caller, request, chosen));
    CORDON_CHECK(refuse_unreadable(made));
    return made;
  }

  [[nodiscard]] Result<std::unique_ptr<Child>> launch(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    return launch_mxc(plan, facts, run_id, streams, program_);
  }

 private:
  std::string program_;
};

}  // namespace

std::unique_ptr<Backend> make_mxc_backend(std::string program) {
  return std::make_unique<Mxc>(std::move(program));
}

}  // namespace cordon::mxc
