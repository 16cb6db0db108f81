#include "changes/last_run.h"

#include <algorithm>

#include "base/path.h"
#include "changes/stage.h"
#include "host/git/enclosing.h"
#include "host/writable.h"

namespace cordon {
namespace {

// Manifests of earlier releases know no places: what is held says where it was.
std::vector<std::string> places_of(const Manifest& manifest) {
  if (!manifest.places.empty()) return manifest.places;
  std::vector<std::string> places;
  if (const auto stage =
          manifest.mode == WriteMode::Staged ? Stage::peek(manifest.stage) : std::nullopt) {
    for (const StagedRoot& root : stage->roots) places.push_back(root.path);
    return places;
  }
  for (const ChangeRecord& record : manifest.records) places.emplace_back(parent(record.top));
  return places;
}

bool is_of(const Manifest& manifest, const std::string& repository, const Caller& caller) {
  const auto is_here = [&](const std::string& place) {
    if (place == caller.cwd) return true;
    if (!repository.empty() && contains(repository, place)) return true;
    // A home that a run was started in is not the project of everything below it.
    return contains(place, caller.cwd) && !is_no_project(place, caller);
  };
  return std::ranges::any_of(places_of(manifest), is_here);
}

}  // namespace

Result<LastRun> find_last_run(const std::string& directory, const Caller& caller,
                              const CountsAsLast& counts) {
  CORDON_TRY(all, read_manifests(directory));
  LastRun found;
  if (all.empty()) return found;
  const auto repository = find_enclosing_repository(caller);
  const std::string top = repository && repository->refusal.empty() ? repository->top.path : "";
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (counts && !counts(*one)) continue;
    if (is_of(*one, top, caller)) {
      found.here = std::move(*one);
      found.elsewhere.reset();
      return found;
    }
    if (!found.elsewhere) found.elsewhere = std::move(*one);
  }
  return found;
}

std::string place_of(const Manifest& manifest) {
  const std::vector<std::string> places = places_of(manifest);
  return places.empty() ? std::string() : places.front();
}

}  // namespace cordon
