// Pid 1 of a sandbox: it builds the root, starts the command confined, reads back what is in force,
// reaps, forwards signals and ends with the supervisor. No allocation, no lock, no return.
#pragma once

#include "backend/native/build.h"
#include "backend/native/prepared.h"

namespace cordon::native {

struct FirstProcessFds {
  int in, out, err;  // the command's streams; ignored with a terminal
  int channel;
  int release;
  int leash = -1;  // the end of it ends the sandbox, where the kernel does not
};

[[noreturn]] void first_process(const Prepared& prepared, const FirstProcessFds& fds,
                                Builder builder);

}  // namespace cordon::native
