// Starting a sandbox with the native mechanism.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.h"

namespace cordon::native {

struct FirstProcessFds;
struct Prepared;
struct Measured;

// How a sandbox's first process comes to be, and what is asked of it before the command is
// released. The rest of a launch is the same for every mechanism that has one.
struct Machinery {
  std::uint64_t namespaces = 0;  // to clone it into
  void (*first)(const Prepared& prepared, const FirstProcessFds& fds) = nullptr;  // no return
  // Refuses if what was measured inside is not what was planned; `outside` identifies the caller's
  // own namespaces (protocol.h).
  Result<Enforcement> (*verify)(const Plan& plan, const Measured& measured,
                                const std::array<std::uint64_t, 7>& outside) = nullptr;
  bool leashed = false;  // it is ended by the end of a pipe, and then ends what descends from it
};

Result<std::unique_ptr<Child>> launch_by(const Machinery& machinery, const Plan& plan,
                                         const HostFacts& facts, const std::string& run_id,
                                         const CommandStreams& streams);

Result<std::unique_ptr<Child>> launch_native(const Plan& plan, const HostFacts& facts,
                                             const std::string& run_id,
                                             const CommandStreams& streams);
// Really makes the namespaces and mounts a plan needs, in a child; an error says what refused.
Result<Capabilities> probe_native();

}  // namespace cordon::native
