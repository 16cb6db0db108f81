// prune: removes whole days from the beginning of the log. What remains still verifies, because the
// last record that goes is signed first; the newest day never goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/verify.h"

namespace cordon::audit {

struct Pruned {
  std::vector<std::string> days;
  std::uint64_t records = 0;
  Link last;  // the last record that was removed
};

// The first day of which the file is kept if the last `keep_days` are, today's included.
std::string first_kept_day(std::int64_t now_us, std::uint64_t keep_days);

// Keeps the files of the last `keep_days` days. `verified` is a log that holds.
Result<Pruned> prune(const Place& place, const Verification& verified, std::uint64_t keep_days);

// Removes these days, which are the oldest, were verified and are followed by another. Nothing is
// removed if another process has removed some of them meanwhile.
Result<Pruned> remove_days(Log& log, const std::vector<DayEnd>& days);

}  // namespace cordon::audit
