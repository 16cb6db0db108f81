// Comparing an object found after a run with the snapshot from before it, and writing a snapshot
// down so that the next start can finish what a killed one could not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/git_config.h"
#include "host/look.h"
#include "host/survey.h"

namespace cordon {

// The same object in the same state. Its inode number alone proves nothing if nothing pinned it.
inline bool is_unchanged(const TreeSnapshot& before, const FileId& id,
                         const TreeSnapshot::Loose& now) {
  const auto found = before.loose_objects.find(id);
  return found != before.loose_objects.end() && found->second == now;
}
inline bool is_unchanged(const TreeSnapshot& before, const Looked& seen) {
  return is_unchanged(before, seen.id, {seen.kind, seen.changed_ns});
}

// Held, masked or pinned during the run, or unchanged.
inline bool was_there(const TreeSnapshot& before, const Looked& seen) {
  return before.protected_objects.contains(seen) || is_unchanged(before, seen);
}

// For TreeSnapshot::git_settings: one setting in one file.
std::string digest_of(std::string_view file, const GitSetting& setting);
// The section of a setting, whatever is in it.
std::string digest_of_section(std::string_view file, const GitSetting& setting);

// Nothing that was there: it was made, changed or renamed to this name during the run. Other than
// was_there it can tell for objects of which nothing was written down.
inline bool has_appeared(const TreeSnapshot& before, const Looked& seen) {
  return !was_there(before, seen) && before.began_ns != 0 && seen.changed_ns >= before.began_ns;
}

// One short text for each object; read_snapshot ignores what it does not understand.
std::vector<std::string> write_snapshot(const TreeSnapshot& snapshot);
TreeSnapshot read_snapshot(std::span<const std::string> lines);

}  // namespace cordon
