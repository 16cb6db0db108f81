// What runs wrote to private places and what is gone with them, as `cordon changes list` shows it:
// one small file for each run in `lost/` of the state directory, beside handoff/. Nothing of it can
// be taken, so it is apart from what can: whoever types `cordon changes apply` means the last run
// that held something back. The files of the last runs are kept, of all others none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "changes/manifest.h"
#include "cordon/change.h"
#include "cordon/result.h"

namespace cordon {

// What was written to a private place and is gone with the run: counted and named, so that nobody
// looks for it.

struct Gone {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  // The first ten entries at the top with files in them, sorted. Caches are counted and not named:
  // who writes one expects nothing of it. Outside of a home the same goes for hidden names.
  std::vector<std::string> names;
};

// What stood there before the command began.
struct Given {
  std::map<std::string, std::string> files;  // by their paths; changed, they are the run's
  // Paths that something is mounted on: grants, and one private place in another. Once the mounts
  // are gone with the run, empty files and directories are left there. And links that lead to them.
  std::set<std::string> mounted;
};

// `place` is the path of `directory` inside; other file systems that are mounted in it are not
// looked at, nor are sockets and FIFOs, which nobody looks for. Looks at no more than 100,000
// entries.
Gone gone_with(int directory, const std::string& place, const Given& given);

std::string lost_directory(const std::string& state_directory);

// Notes those of `changes` whose state is lost. They are told by absolute paths. `places` are those
// of the manifest.
Result<void> note_lost(const std::string& state_directory, const std::string& run_id,
                       const std::vector<Change>& changes, std::vector<std::string> places);

// Everything that is known of a run: what was held back, and what was lost.
Result<std::optional<Manifest>> read_with_lost(const std::string& state_directory,
                                               const std::string& run_id);

}  // namespace cordon
