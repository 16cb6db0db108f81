// prune: removes whole days from the beginning of the log. What remains still verifies, because the
// last record that goes is signed first; the newest day never goes.
#pragma once

#include "audit/verify.h"

namespace cordon::audit {

struct Pruned {
  std::vector<std::string> days;
  std::uint64_t records = 0;
  Link last;  // the last record that was removed
};

// Keeps the files of the last `keep_days` days, today's included. `verified` is a log that holds.
Result<Pruned> prune(const Place& place, const Verification& verified, std::uint64_t keep_days);

}  // namespace cordon::audit
