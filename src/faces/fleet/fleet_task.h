// The part of `cordon fleet` that runs on a node: one task of an array, in one sandbox.
#pragma once

#include <span>

namespace cordon {

// The word that the script of a submission starts this program with. No person types it.
inline constexpr const char* kFleetTask = "fleet-task";

// `words`: the directory of the submission. The exit status is that of cordon run, for the
// accounting of the scheduler.
int fleet_task(std::span<const char* const> words);

}  // namespace cordon
