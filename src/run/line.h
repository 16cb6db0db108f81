// The straight line of a run: recover -> judge -> record -> prepare -> launch -> supervise ->
// settle -> close. Every face goes through here; there is no second way to start a command.
#pragma once

#include <optional>

#include "run/judge.h"

namespace cordon {

// Carries out the whole line. The report has an outcome or an error, never both.
Report run_contained(const RunInput& input, const Caller& caller);

// Records a request that was refused before it could be judged, because its policy or a ceiling
// could not be read.
std::optional<AuditMark> record_refusal(const RunInput& input, const Caller& caller,
                                        const Error& error);

}  // namespace cordon
