// The init: the first process of namespaces of its own, in which the executor runs. It builds the
// view first, so that the executor sees no more than the policy grants. What it starts dies with
// it, whatever the executor does or leaves undone: the kernel ends the pid namespace.
// No allocation, no lock, no return.
#pragma once

#include <array>
#include <cstdint>

#include "compat/mxc/executor/examine.h"
#include "plan/plan.h"
#include "sandbox/native/protocol.h"

namespace cordon::mxc {

struct InitMessage {
  enum class Kind : std::uint32_t {
    NotBuilt,    // an operation of the view failed: index and error
    NotStarted,  // the executor could not be executed: error
    Memory,      // what the sandbox's ipc namespace holds has changed
    Ended,       // the executor's status and the tree's usage; everything else is dead and reaped
  };
  Kind kind = Kind::NotStarted;
  std::uint32_t index = 0;
  std::int32_t error = 0;
  std::int32_t wait_status = 0;
  std::uint64_t ipc_bytes = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};

struct InitOrder {
  enum class Kind : std::uint32_t {
    IdentityMapped,
    WatchMemory,  // carries the sandbox's ipc namespace
  };
  Kind kind = Kind::IdentityMapped;
};

struct InitStart {
  const Plan* plan;   // whose view the executor is to run in
  char* const* argv;  // of the executor
  int in, out, err;   // of the command
  int channel;        // seqpacket: orders in, messages out; its end is the supervisor's end
  int document, self, inside_plan, report, release;
  std::array<int, native::kMostGroups> groups;  // negative: none
  bool drop_groups;                             // root has others than its own
  bool terminal;                                // the streams are one, for the executor's session
};

[[noreturn]] void keep(const VerifiedExecutor& executor, const InitStart& start);

}  // namespace cordon::mxc
