#include "audit/upkeep.h"

#include <sys/stat.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "audit/files.h"
#include "audit/prune.h"

namespace cordon::audit {
namespace {

constexpr std::uint64_t kSignedEvery = 1024;  // records
// What one call verifies before it removes it, unless a single day is larger.
constexpr std::uint64_t kMostRead = std::uint64_t{64} << 20U;

bool is_signing_due(const Head& head) {
  return head.last.seq != 0 && head.lost == 0 &&
         (head.last.seq >= head.signed_seq + kSignedEvery || head.signed_day < head.day);
}

// Bounds that were changed count at once, not tomorrow. Zero: there are none.
std::uint64_t mark_of(std::span<const KeepBounds> keep, const Key& key) {
  if (keep.empty()) return 0;
  std::string text;
  for (const KeepBounds& bounds : keep) {
    text += bounds.days ? std::to_string(*bounds.days) : "-";
    text += bounds.bytes ? "/" + std::to_string(*bounds.bytes) + " " : "/- ";
  }
  const Digest digest = keyed(key, "keep", text);
  std::uint64_t mark = 0;
  std::memcpy(&mark, digest.data(), sizeof mark);
  return mark | 1U;
}

bool is_sweeping_due(const Head& head, std::uint64_t bounds) {
  return bounds != 0 && (head.swept_day != head.day || head.swept_by != bounds);
}

struct DayFile {
  std::string day;
  std::uint64_t size = 0;
  std::uint64_t from_here = 0;  // bytes of this day and all later ones
};

Result<std::vector<DayFile>> day_files(int directory) {
  CORDON_TRY(days, list_days(directory));
  std::vector<DayFile> files;
  for (const std::string& day : days) {
    struct stat status {};
    if (::fstatat(directory, file_of_day(day).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(audit_error("cannot examine audit/" + file_of_day(day), errno));
    }
    files.push_back({day, static_cast<std::uint64_t>(status.st_size), 0});
  }
  std::uint64_t total = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    total += file->size;
    file->from_here = total;
  }
  return files;
}

bool lets_go(const KeepBounds& keep, const DayFile& file, std::int64_t now_us) {
  return (keep.days && file.day < first_kept_day(now_us, *keep.days)) ||
         (keep.bytes && file.from_here > *keep.bytes);
}

// How many of the oldest days go: those that every ceiling lets go, that nothing open began in, and
// never the newest.
std::size_t count_to_go(const std::vector<DayFile>& files, std::span<const KeepBounds> keep,
                        const OpenEntry* oldest_open, std::int64_t now_us) {
  std::size_t count = 0;
  while (count + 1 < files.size()) {
    const DayFile& file = files[count];
    if (oldest_open != nullptr && oldest_open->day <= file.day) break;
    const bool goes = std::ranges::all_of(
        keep, [&](const KeepBounds& bounds) { return lets_go(bounds, file, now_us); });
    if (!goes) break;
    ++count;
  }
  return count;
}

std::vector<std::string> days_for_one_call(const std::vector<DayFile>& files, std::size_t count) {
  std::vector<std::string> days;
  std::uint64_t bytes = 0;
  while (days.size() < count && (days.empty() || bytes + files[days.size()].size <= kMostRead)) {
    bytes += files[days.size()].size;
    days.push_back(files[days.size()].day);
  }
  return days;
}

}  // namespace

Result<std::vector<std::string>> days_to_go(Log& log, std::span<const KeepBounds> keep) {
  Chain& chain = log.chain();
  const std::int64_t now_us = chain.clock().wall_us();
  CORDON_TRY(locked, chain.lock(now_us));
  CORDON_TRY(files, day_files(chain.directory()));
  const std::size_t count = count_to_go(files, keep, locked.table().oldest(), now_us);
  std::vector<std::string> days = days_for_one_call(files, count);
  if (days.size() == count) CORDON_CHECK(locked.mark_swept(mark_of(keep, chain.key())));
  return days;
}

Result<void> remove_if_they_hold(Log& log, const std::vector<std::string>& days) {
  CORDON_TRY(verified, verify_oldest({log.chain().path()}, days));
  if (!verified) return {};
  if (!verified->holds()) {
    return fail(audit_error("days that are no longer kept do not hold, and were left", 0,
                            "cordon audit verify says what is wrong with them"));
  }
  CORDON_CHECK(remove_days(log, verified->days));
  return {};
}

namespace {

Result<void> sweep(Log& log, std::span<const KeepBounds> keep) {
  Chain& chain = log.chain();
  CORDON_TRY(going, days_to_go(log, keep));
  if (going.empty()) return {};
  auto removed = remove_if_they_hold(log, going);
  if (!removed) {
    // Said again by the next action, until somebody has looked at it.
    CORDON_TRY(locked, chain.lock(chain.clock().wall_us()));
    CORDON_CHECK(locked.mark_swept(0));
  }
  return removed;
}

}  // namespace

Result<void> keep_up(Log& log, std::span<const KeepBounds> keep) {
  Chain& chain = log.chain();
  const std::uint64_t bounds = mark_of(keep, chain.key());
  if (is_signing_due(chain.last_seen())) {
    CORDON_TRY(locked, chain.lock(chain.clock().wall_us()));
    if (is_signing_due(locked.head())) CORDON_CHECK(locked.sign("regular"));
  }
  if (!is_sweeping_due(chain.last_seen(), bounds)) return {};
  return sweep(log, keep);
}

}  // namespace cordon::audit
