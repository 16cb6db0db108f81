#include "run/kept_run.h"

#include <set>

#include "base/path.h"
#include "run/run_note.h"

namespace cordon {

bool keeps(const Plan& plan) { return !plan.keeping.empty(); }

std::string kept_directory(const Caller& caller, const std::string& run_id) {
  return join(kept_directories(caller), run_id);
}

Result<std::optional<KeptFiles>> keep_for(const JudgedRun& run, const std::string& run_id) {
  if (!keeps(run.plan)) return std::nullopt;
  CORDON_TRY(kept, KeptFiles::keep(kept_directory(run.caller, run_id), run.plan.keeping,
                                   other_runs(run.caller, run_id)));
  return std::optional(std::move(kept));
}

void forget_kept(const Keeping& keeping, const HostFacts& facts, TreeSnapshot& snapshot) {
  std::set<std::string_view> kept(keeping.trace.begin(), keeping.trace.end());
  for (const KeptPath& path : keeping.paths) kept.insert(path.path);
  const auto forget = [&](const auto& entries) {
    for (const auto& entry : entries)
      if (kept.contains(entry.path)) snapshot.protected_objects.erase(entry.id);
  };
  forget(facts.held);
  forget(facts.pinned);
  for (const GitDirectory& git : facts.git) {
    forget(git.pinned);
    forget(git.held);
    forget(git.configs);
  }
}

}  // namespace cordon
