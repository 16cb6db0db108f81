// What was moved to handoff/ and stands in no manifest: the disk of the state directory was full
// when the run ended, or Cordon was killed between the two. Nothing else tells of it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cordon {

struct Unnoted {
  std::string run_id;
  std::string kept;  // where it lies, absolute
  // Where it stood, as far as its name tells: absolute, or below where the run was started. Empty
  // if the name is cut.
  std::string path;
};

// Sorted by where it lies. Not of a run that is at work just now.
Result<std::vector<Unnoted>> find_unnoted(const std::string& state_directory);

}  // namespace cordon
