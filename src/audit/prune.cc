#include "audit/prune.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "audit/checkpoint.h"
#include "audit/day_files.h"
#include "audit/moment.h"

namespace cordon::audit {
namespace {

// Days whose files are older than what is kept; the last day of the log is not among them.
std::vector<DayEnd> days_to_remove(const Verification& verified, std::int64_t now_us,
                                   std::uint64_t keep_days) {
  constexpr std::uint64_t kMostDays = 100'000;
  const auto kept = static_cast<std::int64_t>(std::min(keep_days, kMostDays));
  const std::string first_kept = day_of(now_us - (kept - 1) * kDayUs);
  std::vector<DayEnd> removed;
  for (std::size_t i = 0; i + 1 < verified.days.size(); ++i) {
    if (verified.days[i].day < first_kept) removed.push_back(verified.days[i]);
  }
  return removed;
}

}  // namespace

Result<Pruned> prune(const Place& place, const Verification& verified, std::uint64_t keep_days) {
  if (!verified.holds()) {
    return fail(audit_error("a log that does not hold is not pruned", 0,
                            "cordon audit verify says what is wrong with it"));
  }
  CORDON_TRY(log, Log::open(place));
  Chain& chain = log.chain();
  const std::int64_t now = chain.clock().wall_us();
  const std::vector<DayEnd> days = days_to_remove(verified, now, keep_days);
  Pruned pruned;
  if (days.empty()) return pruned;
  pruned.last = days.back().last;
  CORDON_CHECK(log.close_lost());
  CORDON_TRY(locked, chain.lock(now));
  const OpenEntry* oldest = locked.table().oldest();
  if (oldest != nullptr && oldest->day <= days.back().day) {
    return fail(audit_error("an action that began on " + oldest->day + " is still open", 0,
                            "wait for it, or keep more days"));
  }
  // First what lets the rest verify, then the record that tells it, then the files, oldest first:
  // whatever is interrupted leaves a log that holds.
  CORDON_TRY(seed, load_key(chain.directory(), kSigningKey, IfMissing::Make));
  CORDON_TRY(checkpoint, make_checkpoint(pruned.last, days.back().day, "prune", now, seed));
  CORDON_CHECK(append_checkpoint(chain.directory(), checkpoint));
  Node metadata;
  metadata.set("last_seq", Node(pruned.last.seq))
      .set("last_hash", Node(to_hex(pruned.last.hash)))
      .set("days", Node(std::uint64_t{days.size()}));
  CORDON_TRY(body, chain.note("audit.prune", std::move(metadata)));
  body.wall_us = now;
  CORDON_CHECK(locked.append(body, Durability::Synced));
  for (const DayEnd& day : days) {
    if (::unlinkat(chain.directory(), file_of_day(day.day).c_str(), 0) != 0) {
      return fail(audit_error("cannot remove audit/" + file_of_day(day.day), errno));
    }
    pruned.days.push_back(day.day);
    pruned.records += day.records;
  }
  // It knows what was removed.
  ::unlinkat(chain.directory(), "index.sqlite", 0);
  return pruned;
}

}  // namespace cordon::audit
