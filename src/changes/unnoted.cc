#include "changes/unnoted.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/path.h"
#include "changes/manifest.h"
#include "changes/run_lock.h"
#include "host/quarantine.h"
#include "host/walk.h"

namespace cordon {
namespace {

std::vector<std::string> names_at(const std::string& path) {
  std::vector<std::string> found;
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DirectoryNames names;
  if (!directory.valid() || !names.read(directory.get())) return found;
  for (const DirectoryEntry& entry : names.entries()) found.emplace_back(entry.name);
  std::ranges::sort(found);
  return found;
}

// The names in handoff/RUN that manifests speak of, by run.
Result<std::map<std::string, std::set<std::string>>> noted_names(const std::string& handoff) {
  CORDON_TRY(manifests, read_manifests(handoff));
  std::map<std::string, std::set<std::string>> noted;
  for (const Manifest& manifest : manifests) {
    for (const ChangeRecord& record : manifest.records) {
      for (const std::string* place : {&record.kept, &record.replaced}) {
        if (*place == handoff || !contains(handoff, *place)) continue;
        const std::string below = place->substr(handoff.size() + 1);
        const std::size_t slash = below.find('/');
        if (slash == std::string::npos) continue;
        noted[below.substr(0, slash)].insert(
            below.substr(slash + 1, below.find('/', slash + 1) - slash - 1));
      }
    }
  }
  return noted;
}

}  // namespace

Result<std::vector<Unnoted>> find_unnoted(const std::string& state_directory) {
  const std::string handoff = handoff_directory(state_directory);
  std::vector<Unnoted> found;
  for (const std::string& run : names_at(handoff)) {
    // A run that is at work, or ends just now, notes them in a moment.
    if (!is_run_id(run) || !RunLock::take(state_directory, run)) continue;
    const std::string place = join(handoff, run);
    for (const std::string& name : names_at(place))
      found.push_back({run, join(place, name), handoff_path(name)});
  }
  // Read last: what those runs noted before they ended is in them.
  CORDON_TRY(noted, noted_names(handoff));
  std::erase_if(found, [&](const Unnoted& one) {
    return noted[one.run_id].contains(std::string(basename(one.kept)));
  });
  return found;
}

}  // namespace cordon
