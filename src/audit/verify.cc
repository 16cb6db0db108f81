#include "audit/verify.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "audit/chain_walk.h"
#include "audit/checkpoint.h"
#include "audit/files.h"
#include "audit/record.h"
#include "audit/signing.h"

namespace cordon::audit {
namespace {

struct DaySize {
  std::string day;
  std::uint64_t size = 0;
};

// The log at one moment: writers wait while sizes and head are read, not while lines are.
struct Snapshot {
  Fd directory;
  Result<Key> key = fail(Error{});
  Result<Head> head = fail(Error{});
  std::vector<DaySize> days;
  std::vector<StoredCheckpoint> checkpoints;
};

Result<Head> head_in(int directory, const Result<Key>& key) {
  if (!key) return fail(key.error());
  CORDON_TRY(file, open_private_file(directory, "head", O_RDONLY));
  std::string bytes(kHeadSize + 1, '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return fail(audit_error("cannot read audit/head", errno));
  return decode_head(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)), *key);
}

Result<Snapshot> snapshot_of(const Place& place) {
  Snapshot snapshot;
  CORDON_TRY(directory, open_private_directory(place.directory, IfAbsent::Refuse));
  snapshot.directory = std::move(directory);
  const int fd = snapshot.directory.get();
  if (::flock(fd, LOCK_SH) != 0) return fail(audit_error("cannot lock the audit directory", errno));
  snapshot.key = load_key(fd, "key", IfMissing::Refuse);
  snapshot.head = head_in(fd, snapshot.key);
  auto days = list_days(fd);
  for (const std::string& day : days ? *days : std::vector<std::string>{}) {
    struct stat status {};
    if (::fstatat(fd, file_of_day(day).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      days = fail(audit_error("cannot examine audit/" + file_of_day(day), errno));
      break;
    }
    snapshot.days.push_back({day, static_cast<std::uint64_t>(status.st_size)});
  }
  auto checkpoints = read_checkpoints(fd);
  ::flock(fd, LOCK_UN);
  if (!days) return fail(std::move(days).error());
  if (!checkpoints) return fail(std::move(checkpoints).error());
  snapshot.checkpoints = std::move(*checkpoints);
  return snapshot;
}

// The last prune that this installation signed: where the log begins now.
std::optional<Link> start_of_log(const Snapshot& snapshot, const std::string& public_key) {
  std::optional<Link> start;
  for (const StoredCheckpoint& stored : snapshot.checkpoints) {
    if (!stored.checkpoint || stored.checkpoint->reason != "prune" ||
        stored.checkpoint->public_key != public_key) {
      continue;
    }
    const auto hash = digest_from_hex(stored.checkpoint->hash);
    if (hash && (!start || stored.checkpoint->seq > start->seq)) {
      start = Link{stored.checkpoint->seq, *hash};
    }
  }
  return start;
}

Result<void> walk_day(const Snapshot& snapshot, const DaySize& day, const Progress& progress,
                      std::uint64_t total, std::uint64_t& done, ChainWalk& walk) {
  CORDON_TRY(file, open_private_file(snapshot.directory.get(), file_of_day(day.day), O_RDONLY));
  const bool is_last = &day == &snapshot.days.back();
  const std::optional<Key> key = snapshot.key ? std::optional(*snapshot.key) : std::nullopt;
  DecodedLines lines(file.get(), 0, day.size, key);
  walk.enter_day(day.day);
  for (;;) {
    CORDON_TRY(decoded, lines.next());
    if (decoded == nullptr) break;
    const Line& line = decoded->line;
    done += line.length + 1;
    if (progress && line.number % 4096 == 0) progress(done, total);
    if (line.complete) {
      walk.take(*decoded);
      continue;
    }
    const bool behind_head = is_last && snapshot.head && snapshot.head->day == day.day &&
                             line.offset >= snapshot.head->size;
    if (!behind_head) {
      walk.add(Fault::Truncation, line.number, walk.last().seq + 1, "the line is cut off");
    }
  }
  walk.leave_day();
  return {};
}

void check_end(const Snapshot& snapshot, const std::string& boot_id, ChainWalk& walk,
               std::vector<std::string>& notices) {
  const Head& head = *snapshot.head;
  const std::uint64_t named = head.last.seq - head.lost;
  const std::uint64_t found = walk.last().seq;
  const bool restarted = head.boot_id != boot_id;
  if (head.cut_bytes != 0)
    notices.emplace_back("a torn line was cut off; the next record tells it");
  const auto file_size = [&]() -> std::optional<std::uint64_t> {
    for (const DaySize& day : snapshot.days) {
      if (day.day == head.day) return day.size;
    }
    return std::nullopt;
  }();
  if (!head.day.empty() && !file_size) {
    walk.enter_day(head.day);
    walk.add(Fault::Removal, 1, found + 1, "the file of the last day is missing");
    return;
  }
  if (found < named) {
    if (restarted && found >= head.synced) {
      notices.push_back(std::to_string(named - found) +
                        " record(s) at the end were lost in a power cut before they were synced");
      return;
    }
    walk.add(Fault::Truncation, walk.lines_of_day() + 1, found + 1,
             "the log ends before record " + std::to_string(named) + ", which audit/head names");
    return;
  }
  if (walk.ends_damaged()) return;
  if (named != 0 && !walk.had(named, head.last.hash)) {
    if (found == named) {
      walk.add_last(Fault::Edit, "it is not the record that audit/head names");
    } else {
      walk.add(Fault::HeadMismatch, 0, named, "the log does not hold the record it names");
    }
    return;
  }
  if (found == named) {
    if (file_size && *file_size > head.size) {
      notices.emplace_back("a line at the end is torn; the next writer cuts it off and tells it");
    }
    return;
  }
  const bool explained = restarted ? walk.last_before_boot() == found : found == named + 1;
  if (explained) {
    notices.push_back(std::to_string(found - named) +
                      " record(s) behind audit/head: a writer or the power was cut off");
  } else {
    walk.add(Fault::HeadMismatch, 0, named,
             "audit/head names record " + std::to_string(named) + ", and the log goes on to " +
                 std::to_string(found));
  }
}

// Of the signed records, those up to the last that was walked over, or all.
enum class Signed { Walked, All };

void check_checkpoints(const Snapshot& snapshot, const std::optional<std::string>& public_key,
                       const ChainWalk& walk, Signed which, Verification& result) {
  for (const StoredCheckpoint& stored : snapshot.checkpoints) {
    const auto bad = [&](std::uint64_t seq, std::string what) {
      result.findings.push_back(
          {Fault::Checkpoint, kCheckpointFile, stored.line, seq, std::move(what)});
    };
    if (!stored.checkpoint) {
      bad(0, stored.checkpoint.error().what);
      continue;
    }
    const Checkpoint& checkpoint = *stored.checkpoint;
    if (which == Signed::Walked && checkpoint.seq > walk.last().seq) continue;
    ++result.checkpoints;
    if (!public_key || checkpoint.public_key != *public_key) {
      bad(checkpoint.seq, "it was signed with another key than audit/signing.key");
      continue;
    }
    const auto hash = digest_from_hex(checkpoint.hash);
    // What was pruned can no longer be compared.
    if (checkpoint.seq < walk.first_seq()) continue;
    if (!hash || !walk.had(checkpoint.seq, *hash)) {
      bad(checkpoint.seq, "the log does not hold the record that was signed");
    }
  }
}

}  // namespace

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::Edit:
      return "edit";
    case Fault::Removal:
      return "removal";
    case Fault::Reorder:
      return "reorder";
    case Fault::Duplication:
      return "duplication";
    case Fault::Truncation:
      return "truncation";
    case Fault::HeadMismatch:
      return "head-mismatch";
    case Fault::Checkpoint:
      return "checkpoint";
    case Fault::Pairing:
      return "pairing";
  }
  return "";
}

namespace {

std::optional<std::string> own_public_key(const Snapshot& snapshot) {
  const auto seed = load_key(snapshot.directory.get(), kSigningKey, IfMissing::Refuse);
  if (!seed) return std::nullopt;
  return public_key_of(*seed);
}

ChainWalk walk_of(const Snapshot& snapshot, const std::optional<std::string>& public_key,
                  const std::string& boot_id) {
  const std::optional<Link> start = public_key ? start_of_log(snapshot, *public_key) : std::nullopt;
  std::optional<std::uint64_t> keyed_from;
  if (snapshot.key && snapshot.head && snapshot.head->keyed_from != 0) {
    keyed_from = snapshot.head->keyed_from;
  }
  return {start, boot_id, keyed_from};
}

Result<Verification> verify_once(const Place& place, const Progress& progress) {
  CORDON_TRY(snapshot, snapshot_of(place));
  CORDON_TRY(writer, identify_writer());
  const std::optional<std::string> public_key = own_public_key(snapshot);
  ChainWalk walk = walk_of(snapshot, public_key, writer.boot_id);
  std::uint64_t total = 0;
  for (const DaySize& day : snapshot.days) total += day.size;
  std::uint64_t done = 0;
  for (const DaySize& day : snapshot.days) {
    CORDON_CHECK(walk_day(snapshot, day, progress, total, done, walk));
  }
  const bool torn = walk.found(Fault::Truncation);
  std::vector<std::string> notices;
  if (!snapshot.head) {
    walk.add_head(snapshot.head.error());
  } else if (!torn) {
    check_end(snapshot, writer.boot_id, walk, notices);
  }
  Verification checked;
  check_checkpoints(snapshot, public_key, walk, Signed::All, checked);
  Verification result = std::move(walk).finish();
  result.checkpoints = checked.checkpoints;
  result.findings.insert(result.findings.end(), checked.findings.begin(), checked.findings.end());
  result.notices.insert(result.notices.end(), notices.begin(), notices.end());
  return result;
}

}  // namespace

Result<Verification> verify(const Place& place, const Progress& progress) {
  auto result = verify_once(place, progress);
  // A run that ended meanwhile may have removed days that nobody keeps.
  if (!result && result.error().error_number == ENOENT) result = verify_once(place, progress);
  return result;
}

namespace {

// The newest day is never among the oldest.
bool are_oldest(const std::vector<std::string>& days, const std::vector<DaySize>& present) {
  return present.size() > days.size() &&
         std::ranges::mismatch(days, present, {}, {}, &DaySize::day).in1 == days.end();
}

Result<void> walk_oldest(const Snapshot& snapshot, std::size_t count, ChainWalk& walk) {
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    CORDON_CHECK(walk_day(snapshot, snapshot.days[i], {}, 0, done, walk));
  }
  // The line behind them tells whether one is missing at their end.
  const DaySize& next = snapshot.days[count];
  CORDON_TRY(file, open_private_file(snapshot.directory.get(), file_of_day(next.day), O_RDONLY));
  DecodedLines lines(file.get(), 0, std::min<std::uint64_t>(next.size, kLongestLine + 1),
                     *snapshot.key);
  CORDON_TRY(first, lines.next());
  walk.enter_day(next.day);
  if (first != nullptr && first->line.complete) walk.take(*first);
  walk.leave_day();
  return {};
}

}  // namespace

Result<std::optional<Verification>> verify_oldest(const Place& place,
                                                  const std::vector<std::string>& days) {
  CORDON_TRY(snapshot, snapshot_of(place));
  CORDON_TRY(writer, identify_writer());
  const std::optional<std::string> public_key = own_public_key(snapshot);
  if (!snapshot.key) return fail(snapshot.key.error());
  if (!snapshot.head) return fail(snapshot.head.error());
  if (!are_oldest(days, snapshot.days)) return std::optional<Verification>();
  ChainWalk walk = walk_of(snapshot, public_key, writer.boot_id);
  if (auto walked = walk_oldest(snapshot, days.size(), walk); !walked) {
    // Removed since they were listed.
    if (walked.error().error_number == ENOENT) return std::optional<Verification>();
    return fail(std::move(walked).error());
  }
  Verification checked;
  check_checkpoints(snapshot, public_key, walk, Signed::Walked, checked);
  Verification result = std::move(walk).finish();
  result.days.pop_back();
  result.findings.insert(result.findings.end(), checked.findings.begin(), checked.findings.end());
  return std::optional(std::move(result));
}

Result<std::string> sign_checkpoint(const Place& place, const Verification& verified) {
  if (verified.last.seq == 0) return fail(audit_error("there is no record to sign", 0));
  CORDON_TRY(directory, open_private_directory(place.directory, IfAbsent::Refuse));
  if (::flock(directory.get(), LOCK_EX) != 0) {
    return fail(audit_error("cannot lock the audit directory", errno));
  }
  CORDON_TRY(seed, load_key(directory.get(), kSigningKey, IfMissing::Make));
  const Checkpoint checkpoint = make_checkpoint(verified.last, verified.days.back().day, "verify",
                                                system_clock().wall_us(), seed);
  CORDON_CHECK(append_checkpoint(directory.get(), checkpoint));
  return checkpoint.line;
}

}  // namespace cordon::audit
