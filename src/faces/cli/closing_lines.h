// What Cordon says to a person about a run that is over: what it was not given, what ended it, what
// was denied in it, and what became of what it wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/change.h"
#include "cordon/outcome.h"
#include "cordon/runner.h"
#include "faces/cli/notices.h"

namespace cordon {

// `cordon: reduced write /x: outside-ceiling`.
void say_reductions(const std::vector<Reduction>& reductions, Notices& notices);
// What was denied in a run, by what and how often.
std::string denial_words(const Denial& denial);
// The same with what would permit it.
std::string denial_text(const Denial& denial);
inline constexpr std::string_view kNothingGrants = "nothing can grant it";
// Of what a failed command named, by what it is not granted and what would permit it.
std::string hint_text(const Hint& hint);
// What the run did not write for good: one line for each protected object, with the command that
// takes it.
// Those that are told as handoffs already are only counted.
void say_changes(const std::vector<Change>& changes, const std::vector<Quarantined>& handoffs,
                 Notices& notices);
void say_handoffs(const std::vector<Quarantined>& handoffs, Notices& notices);
// That the command's output did not arrive, for faces that tell nothing else of an outcome.
void say_lost_output(const Outcome& outcome);
// Kills, limits reached, output that was lost and protected files that were moved away. What ended
// the command or was lost is said at once and never folded.
void say_outcome(const Outcome& outcome, Notices& notices);

}  // namespace cordon
