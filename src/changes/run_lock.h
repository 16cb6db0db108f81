// RunLock: who is at work on what is kept of a run: the run itself, a `cordon changes` that takes
// or gives back, or a start that removes what no ceiling keeps. One at a time: a removal in the
// middle of an apply would take away what undoes it.
//
// A byte of changes.lock in the state directory stands for each run, so that nothing is left behind
// when a run is forgotten, and no lock can be one of a file that was replaced meanwhile.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace cordon {

class RunLock {
 public:
  // Held as long as it lives; an error if somebody else is at work on that run.
  static Result<RunLock> take(const std::string& state_directory, const std::string& run_id);

 private:
  explicit RunLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace cordon
