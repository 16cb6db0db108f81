// Refusals: what the clamp does not reduce. Somebody who types an option wants it, so it is granted
// in full or nothing is started. And a command whose working directory was asked for and taken away
// altogether would work somewhere else, and its success would say nothing. Pure.
#pragma once

#include <optional>
#include <span>

#include "policy/effective.h"

namespace cordon {

// Nothing if the run may go on with these reductions. The error names what was asked, the rule that
// decides with the ceiling it stands in, and the line that would permit it.
std::optional<Error> refusal_of(const Resolved& request, std::span<const ResolvedCeiling> ceilings,
                                const Effective& effective, std::span<const Reduction> reductions);

// The same for what surveying and planning had to take away, where no ceiling has a say.
std::optional<Error> refusal_of_planned(std::span<const Reduction> reductions);

}  // namespace cordon
