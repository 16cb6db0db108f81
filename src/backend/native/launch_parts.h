// What starting a sandbox needs beside the mechanism itself, for every one that goes by a plan.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "plan/plan.h"

namespace cordon::native {

// What argv[0] could not become, with the status a shell would give.
Error command_error(const Plan& plan, int number);

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

}  // namespace cordon::native
