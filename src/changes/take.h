// Taking what a run left aside: apply puts a held version into its place, restore undoes that,
// discard drops it.
//
// The order of steps makes every moment a crash point that the next attempt goes on from. To apply
// a file: (1) copy what the host has to handoff/RUN, (2) note where that copy lies, (3) write the
// new version beside the old one under a name that nobody knows, (4) rename it over the old one,
// (5) note that it is applied. After (2) nothing can be lost; between (4) and (5) the file is found
// equal to what was to be put, and is noted as applied.
//
// A file that is no longer what it was when the run began is never overwritten: that is a conflict,
// and both versions stay. Nothing is followed through a symlink: the tree was written by a run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "changes/manifest.h"

namespace cordon {

struct Taken {
  // Something that is not taken, whoever names it.
  struct Refused {
    std::string path;
    std::string reason;
  };
  std::size_t done = 0;
  std::vector<std::string> conflicts;  // paths
  std::vector<Refused> refused;
};

// Each works on the records whose path lies in one of `paths`, or on all if there are none, and
// writes the manifest after each step.
// ByCaller: for the end of a run, which writes the manifest before and after.
enum class Noting { EachStep, ByCaller };
Result<Taken> apply_changes(const std::string& handoff, Manifest& manifest,
                            const std::vector<std::string>& paths,
                            Noting noting = Noting::EachStep);
Result<Taken> discard_changes(const std::string& handoff, Manifest& manifest,
                              const std::vector<std::string>& paths);
Result<Taken> restore_changes(const std::string& handoff, Manifest& manifest,
                              const std::vector<std::string>& paths);

bool is_selected(const ChangeRecord& record, const std::vector<std::string>& paths);

}  // namespace cordon
