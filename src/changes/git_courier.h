// GitCourier: brings commits out of a stage. Whoever takes changes needs git for that, and git
// reads what a run wrote; so it is run in sandboxes, which is not for this folder to do
// (run/stage_courier.h).
#pragma once

#include <string>
#include <vector>

#include "cordon/result.h"
#include "host/git/object.h"

namespace cordon {

struct WantedCommits {
  std::string git_directory;  // the host's
  std::string layer;          // what the run wrote of it
  GitHash hash = GitHash::Sha1;
  std::vector<std::string> tips;   // commits or tags that are to arrive
  std::vector<std::string> known;  // what these lead to the host has
  // Commits whose trees are to be compared; without `before` all of it is new.
  struct Pair {
    std::string before;
    std::string after;
  };
  std::vector<Pair> pairs;
  std::string into;  // a directory of Cordon's own, for `pack` and `idx`
};

struct BroughtCommits {
  bool has_pack = false;  // the host had everything
  // New commits, and the trees and links in which the pairs differ: proven by their hashes.
  GitObjects objects;
};

class GitCourier {
 public:
  GitCourier() = default;
  GitCourier(const GitCourier&) = delete;
  GitCourier& operator=(const GitCourier&) = delete;
  virtual ~GitCourier() = default;
  // Leaves a pack that git has checked, with everything in it that `tips` need and `known` have
  // not.
  virtual Result<BroughtCommits> bring(const WantedCommits& wanted) = 0;
};

}  // namespace cordon
