// A staged run: what it writes into its grants goes to a stage (changes/stage.h), made before the
// launch and read after the last process has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "changes/manifest.h"
#include "changes/stage.h"
#include "cordon/outcome.h"
#include "run/line.h"

namespace cordon {

// Refuses by name what cannot be an overlay, or `as_copy`, with what to do about it. Nothing is
// ever written live instead, and nothing copied unasked. Nothing to refuse for a run that is not
// staged.
Result<void> refuse_unstageable(const Effective& effective, const Caller& caller,
                                BackendKind backend, const std::optional<Owner>& owner,
                                bool as_copy);

// Each call of a tool would have a stage of its own, and the next one would not see what it wrote,
// unless the caller goes on in one. Who applies by himself cannot have what waits for a person.
Result<void> refuse_review_of_tools(const RunInput& input, const Effective& effective);

// The stage that the run is to begin with, as far as it can be told without locking it. What was
// applied, discarded, continued by another run or never there is refused by name.
struct FoundBase : StageBase {
  std::string directory;
  // Its changes were to wait for a person, and nobody has said anything else for this run.
  bool waits = false;
  bool copy = false;  // no overlay
};
Result<std::optional<FoundBase>> find_stage_base(const RunInput& input, const Effective& effective,
                                                 const Caller& caller);

// After the note and before the launch. Nothing for a run that is not staged.
Result<std::optional<Stage>> make_stage(const RunInput& input, const JudgedRun& run,
                                        const std::string& run_id);

// Whether the command may have met ENOSPC: the kernel says so to nobody else.
bool is_full_disk(const Stage& stage);

struct SettledStage {
  std::vector<ChangeRecord> records;
  // Why what was to be applied could not be; it is held.
  std::optional<Error> unapplied;
  // Of runs that were killed, which git's sandboxes cleaned up after.
  std::vector<Quarantined> recovered;
};
// After the last process has ended: lists what changed, notes it, and applies what is to be
// applied. A stage in which nothing changed is removed.
Result<SettledStage> settle_stage(Stage& stage, const RunInput& input, const Caller& caller);

// Of a staged run that ended: whether its stage holds anything.
bool left_changes(const Report& report);

// What a caller that decides by itself does with the stage of a run that ended: everything that is
// to be applied without a name, or nothing. Of `input` count what StageCourier takes of it. An
// error if somebody else works on it.
enum class StageFate { Apply, Discard };
struct DecidedStage {
  std::vector<ChangeRecord> records;
  std::vector<std::string> conflicts;  // paths
};
Result<DecidedStage> decide_stage(const std::string& run_id, StageFate fate, const RunInput& input,
                                  const Caller& caller);

// Of the run `run_id`, whose supervisor was killed: lists and notes what changed, finishes what was
// being applied, and applies nothing more. Nothing if nothing changed.
Result<std::optional<Quarantined>> settle_cut_stage(const std::string& directory,
                                                    const std::string& run_id,
                                                    const Caller& caller);

}  // namespace cordon
