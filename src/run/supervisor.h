// Supervisor: watches one running sandbox until its whole tree is gone. One thread, one poll loop:
// streams, the child's report, the wall clock, signals, memory, and git pointers that must not
// appear.
#pragma once

#include <time.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cordon/runner.h"
#include "run/memory_watch.h"
#include "run/streams.h"
#include "sandbox/backend.h"

namespace cordon {

// The clock that limits and deadlines are measured with: stepping the wall clock does not move it.

inline std::uint64_t monotonic_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

// Something beside the command that is attended to while it runs. `act` is called by the
// supervising thread when the descriptor is readable or its other end is gone; it must not block.
struct PollHook {
  enum class Next { Again, Never, EndTheRun };
  int descriptor = -1;
  std::function<Next()> act;
};

// A directory and the bytes that it may hold.
struct WatchedScratch {
  std::string directory;
  std::uint64_t bytes = 0;
};

struct SuperviseRequest {
  std::optional<std::uint64_t> wall_ms;
  std::optional<std::uint64_t> output_total;
  std::optional<std::uint64_t> watched_memory;  // only where no cgroup holds it
  std::optional<std::uint64_t> watched_tasks;   // processes and threads, in the same case
  std::optional<WatchedScratch> scratch;        // only where no file system holds it
  // A signalfd of the signals to forward, or a connection over which the same records come; its
  // end ends the command.
  int signal_descriptor = -1;
  std::optional<Cancel> cancel;
  // What it is told as that the caller, or a hook of his, ended it.
  End when_ended = Cancelled{0};
  std::optional<Cancel> terminate;  // SIGTERM, once; the command may take its time
  const PollHook* poll_hook = nullptr;
  const GitWatch* git_watch = nullptr;
  // One is readable when the first call, or the first question for a name, waits for the broker.
  std::array<int, 3> first_calls{-1, -1, -1};
  std::function<void()> on_first_call;
  std::optional<std::uint64_t> sent;  // the most bytes over connections, for the account
  int over_sent = -1;                 // readable once there were more
  // Called before the whole tree is killed, unless the command had ended by itself.
  std::function<void()> before_kill;
  // What the command leaves in the background may go on when it has ended.
  bool leaves_processes = false;
};

// Returns after every process of the sandbox is dead and reaped.
Result<Outcome> supervise(Child& child, Streams& streams, const SuperviseRequest& request);

// The signals `cordon run` forwards or acts on; they are to be blocked and read from a signalfd.
sigset_t supervised_signals();

}  // namespace cordon
