#include "audit/prune.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "audit/checkpoint.h"
#include "audit/files.h"
#include "audit/record.h"

namespace cordon::audit {
namespace {

// The last day of the log is not among them.
std::vector<DayEnd> days_before(const Verification& verified, const std::string& first_kept) {
  std::vector<DayEnd> removed;
  for (std::size_t i = 0; i + 1 < verified.days.size(); ++i) {
    if (verified.days[i].day < first_kept) removed.push_back(verified.days[i]);
  }
  return removed;
}

bool begins_with(const std::vector<std::string>& present, const std::vector<DayEnd>& days) {
  return present.size() > days.size() &&
         std::ranges::mismatch(days, present, {}, &DayEnd::day).in1 == days.end();
}

}  // namespace

std::string first_kept_day(std::int64_t now_us, std::uint64_t keep_days) {
  constexpr std::uint64_t kMostDays = 100'000;
  const auto kept = static_cast<std::int64_t>(std::clamp<std::uint64_t>(keep_days, 1, kMostDays));
  return day_of(now_us - (kept - 1) * kDayUs);
}

Result<Pruned> prune(const Place& place, const Verification& verified, std::uint64_t keep_days) {
  if (!verified.holds()) {
    return fail(audit_error("a log that does not hold is not pruned", 0,
                            "cordon audit verify says what is wrong with it"));
  }
  CORDON_TRY(log, Log::open(place));
  const std::string first_kept = first_kept_day(log.chain().clock().wall_us(), keep_days);
  const std::vector<DayEnd> days = days_before(verified, first_kept);
  if (days.empty()) return Pruned{};
  CORDON_CHECK(log.close_lost());
  return remove_days(log, days);
}

Result<Pruned> remove_days(Log& log, const std::vector<DayEnd>& days) {
  Chain& chain = log.chain();
  const std::int64_t now = chain.clock().wall_us();
  Pruned pruned;
  pruned.last = days.back().last;
  CORDON_TRY(locked, chain.lock(now));
  CORDON_TRY(present, list_days(chain.directory()));
  if (!begins_with(present, days)) return Pruned{};
  const OpenEntry* oldest = locked.table().oldest();
  if (oldest != nullptr && oldest->day <= days.back().day) {
    return fail(audit_error("an action that began on " + oldest->day + " is still open", 0,
                            "wait for it, or keep more days"));
  }
  // First what lets the rest verify, then the record that tells it, then the files, oldest first:
  // whatever is interrupted leaves a log that holds.
  CORDON_TRY(seed, load_key(chain.directory(), kSigningKey, IfMissing::Make));
  const Checkpoint checkpoint = make_checkpoint(pruned.last, days.back().day, "prune", now, seed);
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
  return pruned;
}

}  // namespace cordon::audit
