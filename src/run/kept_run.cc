#include "run/kept_run.h"

#include <algorithm>

#include "base/path.h"
#include "plan/keeping_plan.h"
#include "run/run_note.h"

namespace cordon {

bool keeps(const Plan& plan) {
  return std::ranges::find(plan.lost, Loss::Protected) != plan.lost.end();
}

std::string kept_directory(const Caller& caller, const std::string& run_id) {
  return join(kept_directories(caller), run_id);
}

Result<std::optional<KeptFiles>> keep_for(const JudgedRun& run, const std::string& run_id) {
  if (!keeps(run.plan)) return std::nullopt;
  CORDON_TRY(kept, KeptFiles::keep(kept_directory(run.caller, run_id),
                                   keeping_for(run.clamped.effective(), run.survey.facts),
                                   other_runs(run.caller, run_id)));
  return std::optional(std::move(kept));
}

void forget_kept(const HostFacts& facts, TreeSnapshot& snapshot) {
  const auto forget = [&](const auto& entries) {
    for (const auto& entry : entries) snapshot.protected_objects.erase(entry.id);
  };
  forget(facts.held);
  for (const GitDirectory& git : facts.git) {
    forget(git.pinned);
    forget(git.held);
    forget(git.configs);
  }
}

}  // namespace cordon
