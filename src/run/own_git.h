// Git as Cordon runs it for itself: always in a sandbox, since it reads what a run may have
// written. Nothing that it is told by settings, hooks, attributes, replacements or grafts is heard,
// nothing is fetched, and it can write nowhere. What it answers is untrusted.
#pragma once

#include <string>

#include "run/line.h"

namespace cordon {

// A run under the strict preset that sees the system and `readable`, bounded by `outer`'s ceilings;
// argv, streams and limits are the caller's to set.
RunInput own_git_input(const RunInput& outer, const std::string& readable);

// Why there is no answer; empty: there is one.
std::string failure_of_git(const Report& report);

}  // namespace cordon
