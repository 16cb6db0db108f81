// Init: a process between Cordon and a program it starts, where no pid namespace and no pidfd can
// be had. It puts the program into a session of its own, tells when it ended, and ends its process
// group then, when it is asked to, and when Cordon is gone. POSIX alone.
//
// What leaves the group is not ended; a profile still holds it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::seatbelt {

struct Start {
  std::vector<std::string> argv;  // the first is a path
  std::vector<std::string> environment;
  std::string cwd;
  struct Bound {
    int resource;
    std::uint64_t value;
  };
  std::vector<Bound> bounds;
  int in = -1;  // none: /dev/null
  int out = -1;
  int err = -1;
};

// How the program ended. Sent once.
struct Ended {
  int wait_status = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};

struct Kept {
  pid_t init = -1;
  // Readable when the program ended: an Ended. A byte that is written is a signal for the group; no
  // writer left: the group is to end.
  Fd channel;
};

// Returns when the program was executed, or with the reason why it was not; then nothing runs.
Result<Kept> start(const Start& wanted);

// Ends what is left and reaps the init.
void end(Kept& kept);

// The status of a program that ended within `milliseconds`; else it is ended.
Result<std::optional<int>> run_briefly(const Start& wanted, int milliseconds);

}  // namespace cordon::seatbelt
