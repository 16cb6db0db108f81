// What a run leaves: looked at when its last process has ended, then kept, held back, put back or
// told as lost. Nothing here starts anything.
#pragma once

#include <string>

#include "run/judge.h"
#include "run/prepare.h"

namespace cordon {

// Adds to `outcome` and to the report what became of everything that the command wrote. The command
// ran, so there is an outcome: what could not be looked at is told in it, and stays known to the
// next start.
void settle(const RunInput& input, const JudgedRun& run, Prepared& prepared, GonePlaces gone_places,
            Outcome& outcome, Report& report);

// The search for protected files that appeared, while the run goes on: after one command of a
// session. What appeared is moved away under `run_id`.
Result<std::vector<Quarantined>> search_now(const JudgedRun& run, const std::string& run_id);

}  // namespace cordon
