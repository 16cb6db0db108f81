// StageCourier: packs and checks the commits of a stage, with git, in two sandboxes.
//
//   1. pack    sees the host's objects, read-only, and those that the run wrote, as files whose
//              names are those of objects and nothing else: no alternates, commit graph, bitmap,
//              multi-pack index, promisor, setting, hook, graft or replacement of the run's gets
//              there. Its answer is a pack.
//   2. check   sees the host's objects and that pack, not the layer. `git index-pack --strict`
//   reads
//              every object in it, refuses trees that no checkout should see (.git in any spelling,
//              "..", doubled names) and objects that lead nowhere; then everything that the tips
//              need is looked for. Its answer is the pack's index, and the commits, trees and links
//              that are judged outside.
//
// Both have no network, no writable place but a private one, and bounds for time, memory, space and
// output. A pack that breaks git breaks it there. What the second one says about commits and trees
// is hashed before it is believed (GitObjects).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "changes/git_courier.h"
#include "run/line.h"

namespace cordon {

class StageCourier : public GitCourier {
 public:
  // Both outlive it. Of `outer` ceilings, backends, recorder and cancellation count.
  StageCourier(const RunInput& outer, const Caller& caller) : outer_(outer), caller_(caller) {}
  Result<BroughtCommits> bring(const WantedCommits& wanted) override;

  // Of earlier runs that were killed: whoever starts the next run cleans up after them.
  [[nodiscard]] std::vector<Quarantined> take_recovered() { return std::move(recovered_); }

 private:
  Result<void> run(const WantedCommits& wanted, const char* script, int in,
                   const std::function<void(std::string_view)>& hear);
  Result<bool> pack(const WantedCommits& wanted);
  Result<GitObjects> check(const WantedCommits& wanted, bool has_pack);

  const RunInput& outer_;
  const Caller& caller_;
  std::vector<Quarantined> recovered_;
};

}  // namespace cordon
