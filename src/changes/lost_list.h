// What runs wrote to private places and what is gone with them, as `cordon changes list` shows it:
// one small file for each run in `lost/` of the state directory, beside handoff/. Nothing of it can
// be taken, so it is apart from what can: whoever types `cordon changes apply` means the last run
// that held something back. The files of the last runs are kept, of all others none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "changes/manifest.h"
#include "cordon/change.h"
#include "cordon/result.h"

namespace cordon {

std::string lost_directory(const std::string& state_directory);

// Notes those of `changes` whose state is lost. They are told by absolute paths.
Result<void> note_lost(const std::string& state_directory, const std::string& run_id,
                       const std::vector<Change>& changes);

// Everything that is known of a run: what was held back, and what was lost. If `run_id` is empty,
// of the last one that held something back, so that what is listed is what `apply` takes; if there
// is none, of the last that lost something.
Result<std::optional<Manifest>> read_with_lost(const std::string& state_directory,
                                               const std::string& run_id);

}  // namespace cordon
