// Hints: what of a failed command's arguments and messages its policy does not grant. Inside, what
// is not granted is not there, and "No such file or directory" or "Could not resolve host" reads as
// if it were nowhere.
//
// They are guesses and never denials: nobody watched the command.
#pragma once

#include <string>
#include <vector>

#include "run/judge.h"

namespace cordon {

// Of a command that ended by itself with a status other than 0; else none. By the policy alone, or
// looking at the host as well (RunInput::hints). What the command itself made in a private place it
// had: that is among `changes`, as lost.
std::vector<Hint> hints_for(const RunInput& input, const std::vector<std::string>& argv,
                            const JudgedRun& run, const Outcome& outcome,
                            const std::vector<Change>& changes);

}  // namespace cordon
