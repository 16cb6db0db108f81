// What all runs of a loop have in common: ceilings as they are when the run begins, the loop's
// audit log, its mechanism, and an end by a skip or a quit of the person.
#pragma once

#include <string>

#include "audit/recorder.h"
#include "base/result.h"
#include "faces/loop/events.h"
#include "faces/loop/runs.h"
#include "run/line.h"

namespace cordon::loop {

// Of what a run tells of protected files, what Cordon did for an earlier run.
bool tells_removal(const Quarantined& one);

class ContainedRuns {
 public:
  // All of them live as long as this.
  ContainedRuns(const LoopInput& loop, audit::Recorder& recorder, Display& display,
                Control& control);

  // Ceilings, recorder and mechanism of whatever is run.
  Result<void> bound(RunInput& input);
  // Carries out one run, which a skip or a quit ends.
  Report run(RunInput input);

 private:
  // What a run has to say of the log and of what earlier runs left, whatever it was for.
  void tell_upkeep(const Report& report);

  const LoopInput& loop_;
  audit::Recorder& recorder_;
  Display& display_;
  Control& control_;
  std::string told_choice_;
  std::string told_unkept_;
};

}  // namespace cordon::loop
