// Which run a `cordon changes` command is about, and which of its changes: RUN and PATH as they
// were typed, and what Cordon noted of that run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "changes/manifest.h"
#include "changes/unnoted.h"
#include "faces/cli/arguments.h"
#include "host/caller.h"

namespace cordon {

struct AskedChanges {
  Caller caller;
  std::string handoff;
  std::vector<std::string> paths;
  std::optional<Manifest> manifest;  // none: no run, or not that one, has held anything back
  std::string run;                   // that was named; empty: the last one of this project
  // The last run of another project, if this one has none.
  std::optional<Manifest> elsewhere;
  std::vector<Unnoted> unnoted;  // of whatever run
};

// To be shown: what was lost too. To be taken: what was held back, and only of a run that was named
// what was lost, so that it is said that nothing of it can be taken.
enum class AskedFor { Showing, Taking };
Result<AskedChanges> ask_changes(const Arguments& arguments, AskedFor purpose);

std::vector<ChangeRecord> selected(const AskedChanges& asked);

// Whose stage it is now, if a later run went on in it; else empty.
std::string continued_by(const Manifest& manifest, const Caller& caller);
// A run whose stage another one went on in has no changes of its own any more.
Result<void> refuse_continued(const std::optional<Manifest>& manifest, const Caller& caller);

// On which day what waits of a run, or undoes it, is removed if nobody touches it until then
// ([keep] days of the ceilings that count here), as the caller's clock has it; empty: on none.
std::string removal_day(const AskedChanges& asked, const std::string& run_id);

// The answer of --json: cordon.changes/1.
std::string changes_json(const AskedChanges& asked);
// Answers that there is nothing to do, or why not, and returns the status for it.
int answer_nothing(const Arguments& arguments, const AskedChanges& asked);
int answer_error(const Error& error);

}  // namespace cordon
