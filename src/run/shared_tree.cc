#include "run/shared_tree.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "run/run_note.h"
#include "run/tracked_held.h"

namespace cordon {
namespace {

// A run that has nothing else than live files can take away what holds those of another.
Error unlike_another(HeldBy own, const RunAtWork& other) {
  const std::string theirs = own == HeldBy::Mounts ? "without" : "with";
  const std::string ours = own == HeldBy::Mounts ? "with" : "without";
  return {.kind = ErrorKind::Unsupported,
          .what = "run " + other.id + " is at work in this tree " + theirs +
                  " mounts over its protected files, and this one would be " + ours +
                  " them: the one without could take away those of the other",
          .hint = "wait for its end or end it (kill " + std::to_string(other.supervisor) +
                  "), or give both the same --backend"};
}

}  // namespace

Result<Survey> survey_beside_others(const Clamped& clamped, const Caller& caller,
                                    const std::optional<std::vector<std::string>>& asked) {
  constexpr int kMostAttempts = 8;
  const auto ids = [](const std::vector<OlderRun>& runs) {
    std::set<std::string> found;
    for (const OlderRun& run : runs) found.insert(run.id);
    return found;
  };
  std::vector<OlderRun> older = older_runs(caller, clamped.effective());
  if (asked) return survey_ways(clamped, caller, older, *asked);
  for (int attempt = 1;; ++attempt) {
    CORDON_TRY(found, survey(clamped, caller, older));
    std::vector<OlderRun> now = older_runs(caller, clamped.effective());
    const std::set<std::string> before = ids(older);
    const std::set<std::string> after = ids(now);
    if (std::ranges::includes(before, after) || attempt == kMostAttempts) return found;
    older = std::move(now);
  }
}

Error beside_others(Error error, const Caller& caller, const Effective& effective,
                    const std::string& own_id) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<RunAtWork> others = runs_at_work(caller, effective, own_id);
  if (others.empty() || error.kind == ErrorKind::Usage) return error;
  std::string names;
  std::string pids;
  for (std::size_t i = 0; i < others.size() && i < kMostNamed; ++i) {
    if (i > 0) names += ", ";
    names += others[i].id;
    pids += " " + std::to_string(others[i].supervisor);
  }
  if (others.size() > kMostNamed) {
    names += " and " + std::to_string(others.size() - kMostNamed) + " more";
  }
  const std::string more = "run " + names +
                           " is at work in this tree and may be the cause: end it (kill" + pids +
                           ") and start again";
  error.hint = error.hint.empty() ? more : error.hint + "; " + more;
  return error;
}

Result<std::optional<std::string>> held_unlike_others(const JudgedRun& run,
                                                      const std::string& run_id) {
  if (is_staged(run)) return std::nullopt;
  const HeldBy own = run.choice.backend == BackendKind::Landlock ? HeldBy::Copies : HeldBy::Mounts;
  const auto unlike = runs_held_otherwise(run.caller, run.clamped.effective(), own, run_id);
  if (!unlike.empty()) return fail(unlike_another(own, unlike.front()));
  if (!run.request.private_copies) return std::nullopt;
  std::set<std::string> tracked = run.request.tracked;
  follow_others(run.survey.facts, other_runs(run.caller, run_id), tracked);
  std::vector<std::string> differs;
  std::ranges::set_symmetric_difference(tracked, run.request.tracked, std::back_inserter(differs));
  if (differs.empty()) return std::nullopt;
  return std::move(differs.front());
}

}  // namespace cordon
