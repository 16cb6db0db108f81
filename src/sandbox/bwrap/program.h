// The installed bubblewrap: found, trusted and asked what it can do. It is opened once, and what
// was opened is what runs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "plan/plan.h"

namespace cordon::bwrap {

struct Program {
  std::string path;  // without symlinks
  Fd file;
};

// The program at `place`, opened. Untrusted unless root alone can change it, its name and
// everything on the way to it; `called` is what errors call it.
Result<Program> open_trusted(const std::string& place, const std::string& called);

// From a list of places, never from PATH: a directory of a project may be there. Untrusted unless
// root alone can change it, its name and everything on the way to it.
Result<Program> find_program();
// The same from one of other places, for tests.
Result<Program> find_program(const std::vector<std::string>& places);

// Untrusted if a contained command could have replaced it: also root's, through a writable grant in
// which it is not held.
Result<void> refuse_within_grants(const Program& program, const Plan& plan);

// Unavailable, with the version to install, if an option that every run needs is not there.
Result<void> check_options(const Program& program);

struct Answer {
  int wait_status = 0;
  std::string out;  // up to 64 KiB
};
// Runs it without an environment and with those of `kept` open. One that does not answer in time is
// killed, which is an error.
Result<Answer> ask(const Program& program, const std::vector<std::string>& words,
                   const std::vector<int>& kept, std::chrono::milliseconds timeout);

}  // namespace cordon::bwrap
