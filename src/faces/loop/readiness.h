// Whether an agent can work, found out before the first feature by runs under its own policy: its
// program is there inside and answers, it is signed in, and no ceiling keeps it from its model.
// Each of these would fail every attempt in the same way.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "faces/loop/contained.h"
#include "faces/loop/events.h"
#include "faces/loop/runs.h"
#include "run/line.h"

namespace cordon::loop {

struct Readiness {
  Report probe;                       // of a run that does nothing, under the policy of the agent
  std::vector<std::string> warnings;  // what the agent will miss
};

// An error of kind Command is the person's affair, every other a doubt about containment. What it
// gives to a person who asked for the end meanwhile says nothing.
Result<Readiness> check_readiness(const LoopInput& loop, ContainedRuns& runs,
                                  const Control& control);

}  // namespace cordon::loop
