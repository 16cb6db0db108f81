// Hints: what of a failed command's arguments and messages its policy does not grant. Inside, what
// is not granted is not there, and "No such file or directory" reads as if it were nowhere.
//
// They are guesses and never denials: nobody watched the command. A path counts that stands among
// its arguments, or in a line of its captured output which tells of an error.
#pragma once

#include <string>
#include <vector>

#include "run/judge.h"

namespace cordon {

// Paths that `argv` or a line of `messages` names, made absolute from `cwd`: each once, in the
// order in which they are met, and no more than are worth judging.
struct MentionedPath {
  std::string path;
  bool written = false;  // the line tells of a write that failed
  bool operator==(const MentionedPath&) const = default;
};
std::vector<MentionedPath> mentioned_paths(const std::vector<std::string>& argv,
                                           const std::vector<std::string>& messages,
                                           const std::string& cwd, const Caller& caller);

// Of a command that ended by itself with a status other than 0; else none. By the policy alone, or
// looking at the host as well (RunInput::hints).
std::vector<Hint> hints_for(const RunInput& input, const std::vector<std::string>& argv,
                            const JudgedRun& run, const Outcome& outcome);

}  // namespace cordon
