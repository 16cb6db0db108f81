// Which run `last` means: the newest one of the project that the caller stands in. Whoever works in
// one project does not know of the runs in another, and what is taken is taken into theirs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "changes/manifest.h"
#include "host/caller.h"

namespace cordon {

struct LastRun {
  std::optional<Manifest> here;
  // The newest of all, if none is of here.
  std::optional<Manifest> elsewhere;
};

// A run that counts.
using CountsAsLast = std::function<bool(const Manifest&)>;

// Of the runs noted in `directory`, handoff/ or lost/. A run is of here if the current directory
// lies in what it could write, or that in the repository of the current directory.
Result<LastRun> find_last_run(const std::string& directory, const Caller& caller,
                              const CountsAsLast& counts = {});

// Where that run worked, as far as it is known; empty if it is not.
std::string place_of(const Manifest& manifest);

}  // namespace cordon
