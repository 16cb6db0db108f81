// fs.trust_tracked: what a run made of a protected file goes through if it is nothing that the run
// made up, but what one of the person's own branches has at the same path.
//
// `git checkout feature` inside a run writes the version of `.vscode/settings.json` that `feature`
// has. Without this it would be held back like any change, and the host would show it as modified.
//
// Three things have to be known for it, each at its time:
//
//   1. Before the launch: the tips of local branches in the writable trees (RunBranches), read as
//      files. Only these count. Branches that the run makes or moves, remote-tracking refs and
//      refs/cordon are no beginning of a search.
//   2. After the run: which tips it wrote. Each new value goes to the list of written tips
//      (changes/written_tips.h), which no later run takes for the person's. A run that was killed
//      has the tips from before in its note, and the next start does the same for it.
//   3. Whether a file that is about to be held back is in one of those branches (pass_tracked).
//      It is asked when something was held back, so that an ordinary run pays only for 1 and 2: one
//      listing of refs/heads and one read of packed-refs for each repository.
//
// For 3 the host's git reads the objects (`git cat-file --batch`), in a sandbox of its own: it has
// the git directory read-only, no network, and bounds for time and memory. What it answers is
// believed only as far as hashes prove it (host/tracked_search.h). The sandbox is against packs
// that are made to break or exhaust git, not against lies.
//
// With another run at work in the same trees nothing passes: the tips that it wrote are in no list
// yet.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "changes/manifest.h"
#include "host/git/branch_tips.h"
#include "run/line.h"

namespace cordon {

class RunBranches {
 public:
  // Before the note of the run is written, which has to hold the baseline.
  static RunBranches read(const JudgedRun& run);

  // What was a tip before, in any of the repositories, and was not written by a run that is still
  // under way.
  [[nodiscard]] const std::set<std::string>& baseline() const { return baseline_; }
  // After the last process has ended: adds the tips that are new to the list. `found` are the git
  // directories that are there now.
  [[nodiscard]] Result<void> note_written(const Caller& caller,
                                          const std::set<std::string>& found) const;

  [[nodiscard]] bool alone() const { return alone_; }
  // By git directory.
  [[nodiscard]] const std::map<std::string, BranchTips>& repositories() const {
    return repositories_;
  }

 private:
  std::map<std::string, BranchTips> repositories_;
  std::set<std::string> baseline_;
  bool alone_ = true;
};

struct PassedTracked {
  std::vector<std::string> paths;
  std::vector<Quarantined>
      recovered;  // of runs that were killed, which git's sandbox cleaned up after
};

// Of what is about to be held back, the paths that pass. The record of a directory is replaced by
// one for each file in it if some of them pass. A record that passes gets a reason that names
// branch and commit; one that could not be asked about gets the reason why.
PassedTracked pass_tracked(const RunInput& input, const JudgedRun& run, const RunBranches& branches,
                           const std::string& run_id, std::vector<ChangeRecord>& records);

}  // namespace cordon
