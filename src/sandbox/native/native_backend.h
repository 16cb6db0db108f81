// Starting a sandbox with the native mechanism.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "plan/plan.h"
#include "sandbox/backend.h"
#include "sandbox/native/cgroup.h"
#include "sandbox/native/prepared.h"
#include "sandbox/native/sandbox_init.h"
#include "sys/calls.h"

namespace cordon::native {

// What starting a sandbox needs beside the mechanism itself, for every one that goes by a plan.

// What argv[0] could not become, with the status a shell would give.
Error command_error(const Plan& plan, int number);
// The same of any program; `candidates` are the files that were tried, relative to `cwd`.
Error command_error(const std::string& program, const std::vector<std::string>& candidates,
                    const std::string& cwd, int number);

Result<void> write_map(pid_t pid, const char* file, const std::string& map);

// Holds every granted object while the sandbox is built, so that its inode cannot be given to
// another file between the moment it was judged and the moment it is mounted.
Result<std::vector<Fd>> pin(const Plan& plan);

// While it lives no signal is delivered to this thread, and none to a process that it clones.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

struct Start {
  Prepared& prepared;
  const SandboxInitFds& fds;
  int cgroup;                   // of version 2, to be born in; or negative
  const std::vector<Fd>& pins;  // every op::Bind of an object that was judged, in the plan's order
};
struct Started {
  sys::CloneResult process;
  // It is not the first process but its parent, which ends when that one does, and leads a process
  // group of their own.
  bool parent = false;
};
// The outer layer: what starts a sandbox's first process in its namespaces. Asked while signals are
// blocked. One that writes the id maps says so in `prepared`.
class NamespaceLauncher {
 public:
  virtual ~NamespaceLauncher() = default;
  [[nodiscard]] virtual Result<Started> start(const Start& asked) const = 0;
  // Of a first process that is gone without a word: with what this layer knows of it.
  [[nodiscard]] virtual Error explain(Error error) const { return error; }
  // Refuses what was made around a first process that has just begun.
  [[nodiscard]] virtual Result<void> examine(pid_t /*first*/) const { return {}; }
  // Refuses if what was measured inside is not what was planned; `outside` are the caller's own.
  [[nodiscard]] virtual Result<Enforcement> verify(const Plan& plan, const Measured& measured,
                                                   const NamespaceIds& outside) const;
  // True where no kernel ends the sandbox with its first process: what was started is ended by the
  // end of a pipe, and then ends what descends from it.
  [[nodiscard]] virtual bool has_lifetime_pipe() const { return false; }
};
Result<std::unique_ptr<Building>> build_in(std::unique_ptr<NamespaceLauncher> launcher,
                                           const Plan& plan, const HostFacts& facts,
                                           const std::string& run_id,
                                           const CommandStreams& streams);

// In the namespaces of `ahead` where there is one and the plan enters all that it made.
Result<std::unique_ptr<Building>> build_native(const Plan& plan, const HostFacts& facts,
                                               const std::string& run_id,
                                               const CommandStreams& streams, Forerunner* ahead);
// Really makes the namespaces and mounts a plan needs, in a child; an error says what refused.
Result<Capabilities> probe_native();

// A backend whose runs leave nothing behind but the cgroups of native's limits.

class GroupedBackend : public Backend {
 public:
  [[nodiscard]] std::vector<std::string> leftovers(const Plan& plan, const HostFacts& facts,
                                                   const std::string& run_id) const override {
    return cgroup_directories(plan, facts.cgroup, run_id);
  }
};

}  // namespace cordon::native
