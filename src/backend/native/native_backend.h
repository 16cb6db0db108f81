// Starting a sandbox with the native mechanism.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/native/first_process.h"
#include "backend/native/prepared.h"
#include "sys/calls.h"

namespace cordon::native {

struct Start {
  Prepared& prepared;
  const FirstProcessFds& fds;
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
class Outer {
 public:
  virtual ~Outer() = default;
  [[nodiscard]] virtual Result<Started> start(const Start& asked) const = 0;
  // Of a first process that is gone without a word: with what this layer knows of it.
  [[nodiscard]] virtual Error explain(Error error) const { return error; }
  // Refuses if what was measured inside is not what was planned; `outside` are the caller's own.
  [[nodiscard]] virtual Result<Enforcement> verify(const Plan& plan, const Measured& measured,
                                                   const NamespaceIds& outside) const;
  // True where no kernel ends the sandbox with its first process: what was started is ended by the
  // end of a pipe, and then ends what descends from it.
  [[nodiscard]] virtual bool is_leashed() const { return false; }
};
Result<std::unique_ptr<Child>> launch_in(const Outer& outer, const Plan& plan,
                                         const HostFacts& facts, const std::string& run_id,
                                         const CommandStreams& streams);

Result<std::unique_ptr<Child>> launch_native(const Plan& plan, const HostFacts& facts,
                                             const std::string& run_id,
                                             const CommandStreams& streams);
// Really makes the namespaces and mounts a plan needs, in a child; an error says what refused.
Result<Capabilities> probe_native();

}  // namespace cordon::native
