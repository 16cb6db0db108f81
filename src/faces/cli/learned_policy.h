// What `cordon learn` found, as a policy that a person reads: TOML with a reason for each line.
// What counts only once a person wants it stands behind a "#".
#pragma once

#include <string>
#include <vector>

#include "cordon/policy.h"
#include "run/proposals.h"

namespace cordon {

struct LearnedLine {
  Proposal proposal;
  bool live = false;  // it stands as it is
};

struct Learned {
  std::vector<std::string> argv;
  std::vector<LearnedLine> lines;
  std::vector<LeftOut> left_out;
  // What the last round wrote to private places, where it seemed to succeed.
  std::vector<std::string> gone;
  int rounds = 0;
  std::string ended;  // the last of them: "exit status 0"
};

// `base` is what the command was run under: a preset is extended, the lines for a file are to be
// added to it.
std::string learned_toml(const Learned& learned, const Policy& base, const Caller& caller);

}  // namespace cordon
