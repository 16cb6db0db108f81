// upkeep: what the log does for itself once an action has ended. It signs its last record each day
// and each 1024 records, so that a rollback shows, and removes the days that no ceiling keeps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "audit/log.h"
#include "cordon/policy.h"

namespace cordon::audit {

// The days that no ceiling keeps, the oldest first, as far as one call removes them.
Result<std::vector<std::string>> days_to_go(Log& log, std::span<const KeepBounds> keep);

// Verifies these days, without the lock that writers wait for, and removes them. If they are no
// longer the oldest of the log, another process removes days at this moment: it is left to that
// one. By their names: what is the oldest by now may be what every ceiling keeps.
Result<void> remove_if_they_hold(Log& log, const std::vector<std::string>& days);

// Does what is due; nearly always nothing, and then no file is read. However much is to go, a call
// reads some megabytes at most, and later ones do the rest.
Result<void> keep_up(Log& log, std::span<const KeepBounds> keep);

}  // namespace cordon::audit
