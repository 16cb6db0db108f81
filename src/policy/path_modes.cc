#include "policy/path_modes.h"

#include <algorithm>

#include "base/path.h"

namespace cordon {

bool is_baseline(const Grant& grant) {
  switch (grant.source) {
    case Grant::Source::Policy:
    case Grant::Source::GitDirectory:
      return false;
    case Grant::Source::System:
    case Grant::Source::Toolchain:
      return true;
  }
  return false;
}

PathModes::PathModes(std::span<const Grant> read, std::span<const Grant> write) {
  std::vector<const Grant*> baseline;
  for (const Grant& grant : read) {
    if (is_baseline(grant)) {
      baseline.push_back(&grant);
    } else {
      entries_.try_emplace(grant.path, PathEntry{&grant, PathMode::Read});
    }
  }
  for (const Grant& grant : write) {
    const auto [entry, added] =
        entries_.try_emplace(grant.path, PathEntry{&grant, PathMode::Write});
    if (!added && entry->second.mode == PathMode::Read) conflicts_.push_back(&grant);
  }
  // Parents sort before their children, so an entry meets whatever covers it.
  std::sort(baseline.begin(), baseline.end(),
            [](const Grant* a, const Grant* b) { return a->path < b->path; });
  for (const Grant* grant : baseline) {
    if (deepest(grant->path) == nullptr) {
      entries_.try_emplace(grant->path, PathEntry{grant, PathMode::Read});
    }
  }
}

PathMode PathModes::at(std::string_view path) const {
  const PathEntry* entry = deepest(path);
  return entry != nullptr ? entry->mode : PathMode::None;
}

const PathEntry* PathModes::deepest(std::string_view path) const& {
  for (std::string_view place = path;; place = parent(place)) {
    if (const auto found = entries_.find(place); found != entries_.end()) return &found->second;
    if (place == "/") return nullptr;
  }
}

}  // namespace cordon
