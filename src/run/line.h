// The straight line of a run: recover -> judge -> prepare -> launch -> record -> release ->
// supervise -> settle -> close. Every face goes through here; there is no second way to start a
// command.
#pragma once

#include "run/judge.h"

namespace cordon {

// Carries out the whole line. The report has an outcome or an error, never both.
Report run_contained(const RunInput& input, const Caller& caller);

}  // namespace cordon
