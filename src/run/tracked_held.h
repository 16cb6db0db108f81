// The protected files that git may replace in a run: they are seen through private copies
// (run/held_run.h), since git replaces a file by renaming another onto its name, which no mount
// permits.
#pragma once

#include <set>
#include <span>
#include <string>

#include "policy/clamp.h"
#include "policy/host_facts.h"
#include "run/run_note.h"

namespace cordon {

// Single protected files, and protected links, that git replaces when it checks out. A file with a
// second name cannot be put back so that both names lead to it, and stays covered.
std::set<std::string> tracked_held(const HostFacts& facts, const Clamped& clamped,
                                   const Caller& caller);

// A mount goes with the name that it lies on, in whatever namespace that is removed. A run for
// which git may replace a file, since it has no mount there, can take the name away and put the
// same file back: a run beside it, which had a mount on the name, could write the file from then
// on, and the search would know it for the one that was there. So all runs of a tree do with a file
// what the oldest of them does.
void follow_others(const HostFacts& facts, std::span<const OtherRun> others,
                   std::set<std::string>& tracked);

}  // namespace cordon
