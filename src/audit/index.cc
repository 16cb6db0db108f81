#include "audit/index.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "audit/decoded_lines.h"
#include "audit/files.h"
#include "audit/index_update.h"
#include "audit/record.h"
#include "base/path.h"
#include "base/text.h"

namespace cordon::audit {
namespace {

constexpr const char* kIndexFile = "index.sqlite";

std::optional<std::string> line_at(int directory, const std::string& day, std::uint64_t offset) {
  const auto file = open_private_file(directory, file_of_day(day), O_RDONLY);
  if (!file) return std::nullopt;
  LineReader reader(file->get(), offset, offset + kLongestLine);
  Line line;
  const auto more = reader.next(line);
  if (!more || !*more || !line.complete) return std::nullopt;
  return std::string(line.text);
}

std::optional<Followed> followed_in(const Database& database) {
  Statement statement = database.prepare("SELECT day, line_start, offset, hash FROM followed");
  if (!statement.valid() || !statement.step()) return std::nullopt;
  return Followed{statement.text(0), static_cast<std::uint64_t>(statement.number(1)),
                  static_cast<std::uint64_t>(statement.number(2)), statement.text(3)};
}

}  // namespace

Error unusable_index() { return audit_error("the index of the audit log cannot be used", 0); }

bool Index::prepare_tables() {
  Statement version = database_.prepare("PRAGMA user_version");
  if (!version.valid() || !version.step()) return false;
  if (version.number(0) == 0) {
    version.reset();
    // Another process may be making them at this moment.
    if (!database_.run("BEGIN IMMEDIATE")) return false;
    Statement again = database_.prepare("PRAGMA user_version");
    const bool still_new = again.valid() && again.step() && again.number(0) == 0;
    again.reset();
    if (still_new && !database_.run(kIndexTables)) {
      database_.run("ROLLBACK");
      return false;
    }
    return database_.run("COMMIT");
  }
  return version.number(0) == kIndexVersion;
}

// The last line that was taken must still stand where it stood.
bool Index::fits() const {
  Statement probe = database_.prepare("SELECT count(*) FROM followed");
  if (!probe.valid() || !probe.step()) return false;
  const auto followed = followed_in(database_);
  if (!followed) return probe.number(0) == 0;
  const auto line = line_at(directory_.get(), followed->day, followed->line_start);
  const auto record = line ? decode_line(*line) : fail(unusable_index());
  return record && record->hash == followed->hash;
}

// What was pruned goes, except an action of which the end is still there.
bool Index::forget_before(const std::string& oldest_day) {
  const auto line = line_at(directory_.get(), oldest_day, 0);
  const auto record = line ? decode_line(*line) : fail(unusable_index());
  if (!record) return true;  // verify tells
  const auto first = static_cast<std::int64_t>(record->seq);
  const auto run = [&](const char* text) {
    Statement statement = database_.prepare(text);
    return statement.valid() && statement.bind(1, first).bind(2, oldest_day).run();
  };
  Statement gone = database_.prepare(
      "SELECT count(*) FROM event WHERE seq < ? AND coalesce(closing_day, pending_day) < ?");
  if (!gone.valid() || !gone.bind(1, first).bind(2, oldest_day).step()) return false;
  if (gone.number(0) == 0) return true;
  gone.reset();
  return run("DELETE FROM label WHERE seq IN (SELECT seq FROM event"
             " WHERE seq < ? AND coalesce(closing_day, pending_day) < ?)") &&
         run("DELETE FROM event WHERE seq < ? AND coalesce(closing_day, pending_day) < ?") &&
         database_.run("DELETE FROM word WHERE id NOT IN (SELECT word FROM label)");
}

Result<void> Index::update(const Progress& progress) {
  CORDON_TRY(days, list_days(directory_.get()));
  if (!database_.run("BEGIN IMMEDIATE")) return fail(unusable_index());
  if (!days.empty() && !forget_before(days.front())) return fail(unusable_index());
  const auto before = followed_in(database_);
  Followed followed = before.value_or(Followed{});
  IndexUpdate update(database_);
  std::uint64_t total = 0;
  std::uint64_t done = 0;
  bool moved = false;
  for (const std::string& day : days) {
    struct stat status {};
    if (day < followed.day ||
        ::fstatat(directory_.get(), file_of_day(day).c_str(), &status, 0) != 0) {
      continue;
    }
    total += static_cast<std::uint64_t>(status.st_size) -
             (day == followed.day ? std::min<std::uint64_t>(
                                        followed.offset, static_cast<std::uint64_t>(status.st_size))
                                  : 0);
  }
  for (const std::string& day : days) {
    if (day < followed.day) continue;
    const auto file = open_private_file(directory_.get(), file_of_day(day), O_RDONLY);
    // A run that ended meanwhile has removed it: nobody keeps it any more.
    if (!file && file.error().error_number == ENOENT) continue;
    if (!file) return fail(file.error());
    struct stat status {};
    if (::fstat(file->get(), &status) != 0) return fail(unusable_index());
    DecodedLines lines(file->get(), day == followed.day ? followed.offset : 0,
                       static_cast<std::uint64_t>(status.st_size), std::nullopt);
    for (;;) {
      CORDON_TRY(decoded, lines.next());
      // A torn line is cut off or completed by a writer; it is looked at again.
      if (decoded == nullptr || !decoded->line.complete) break;
      const Line& line = decoded->line;
      done += line.length + 1;
      if (progress && line.number % 4096 == 0) progress(done, total);
      const Record& record = decoded->record;
      if (!decoded->has_record || !record.intact) continue;  // verify tells
      if (!update.take(record, day, line.offset)) return fail(unusable_index());
      followed.day = day;
      followed.line_start = line.offset;
      followed.offset = line.end();
      followed.hash = record.hash;
      moved = true;
    }
  }
  if (!update.finish()) return fail(unusable_index());
  if (moved && !(database_.run("DELETE FROM followed") && update.follow(followed))) {
    return fail(unusable_index());
  }
  if (!database_.run(kIndexOrders) || !database_.run("COMMIT")) return fail(unusable_index());
  if (progress && total != 0) progress(total, total);
  return {};
}

Result<Index> Index::open_as(const Place& place, const std::string& path,
                             const Progress& progress) {
  CORDON_TRY(directory, open_private_directory(place.directory, IfAbsent::Refuse));
  if (!path.empty()) {
    CORDON_CHECK(open_private_file(directory.get(), kIndexFile, O_RDWR | O_CREAT));
  }
  auto database = Database::open(path);
  if (!database) return fail(unusable_index());
  Index index(std::move(directory), std::move(*database));
  index.database_.run(
      "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
      "PRAGMA temp_store = MEMORY");
  if (!index.prepare_tables() || !index.fits()) return fail(unusable_index());
  CORDON_CHECK(index.update(progress));
  return index;
}

Result<Index> Index::open(const Place& place, const Progress& progress) {
  // Without a directory there is no log, which is another answer than a bad index.
  CORDON_TRY(directory, open_private_directory(place.directory, IfAbsent::Refuse));
  const std::string path = join(place.directory, kIndexFile);
  if (auto index = open_as(place, path, progress)) return index;
  // Damaged, foreign, or of a log that was pruned or replaced: made anew.
  for (const char* name :
       {"index.sqlite", "index.sqlite-journal", "index.sqlite-wal", "index.sqlite-shm"}) {
    ::unlinkat(directory.get(), name, 0);
  }
  if (auto index = open_as(place, path, progress)) return index;
  return open_as(place, {}, progress);  // a directory that cannot be written
}

namespace {

// Reads the records of one file after the other into an index.
class FileRecords {
 public:
  FileRecords(const Database& database, std::uint64_t& strange, const Progress& progress)
      : update_(database), strange_(strange), progress_(progress) {}

  Result<void> read(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
      Error unreadable = usage_error("cannot read " + quote(path));
      unreadable.error_number = errno;
      return fail(std::move(unreadable));
    }
    if (!S_ISREG(status.st_mode)) {
      return fail(usage_error(quote(path) + " is not a regular file",
                              "name files of records, as cordon audit export writes them"));
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    DecodedLines lines(file.get(), 0, size, std::nullopt);
    std::uint64_t records = 0;
    for (;;) {
      CORDON_TRY(decoded, lines.next());
      if (decoded == nullptr) break;
      if (progress_ && decoded->line.number % 4096 == 0) progress_(decoded->line.offset, size);
      if (!decoded->has_record || !decoded->record.intact) {
        ++strange_;
        continue;
      }
      ++records;
      if (!take(decoded->record, decoded->line.text)) return fail(unusable_index());
    }
    if (progress_ && size != 0) progress_(size, size);
    if (records == 0 && size != 0) {
      return fail(usage_error(quote(path) + " holds no record of an audit log",
                              "name files of records, as cordon audit export writes them"));
    }
    return {};
  }
  bool finish() {
    Record record;
    const auto put_line = [&](const std::string& line) {
      return decode_line(line, record).has_value() && put(record);
    };
    return std::ranges::all_of(early_, put_line) && update_.finish();
  }

 private:
  bool take(const Record& record, std::string_view line) {
    if (!seen_.emplace(record.hash).second) return true;
    if (record.phase == Phase::Pending) begun_.emplace(record.event_id);
    const bool begun = record.phase != Phase::Closing ||
                       !number_in(*record.metadata, "pending_seq") ||
                       begun_.contains(std::string(record.event_id));
    if (begun) return put(record);
    early_.emplace_back(line);
    return true;
  }
  // Numbers of several logs are the same: an action is found again by its event id alone.
  bool put(const Record& record) { return update_.take_as(++number_, record, {}, 0); }

  IndexUpdate update_;
  std::uint64_t& strange_;
  const Progress& progress_;
  std::unordered_set<std::string> seen_;   // hashes
  std::unordered_set<std::string> begun_;  // event ids
  std::vector<std::string> early_;         // lines: the day of the end was named before the other
  std::uint64_t number_ = 0;
};

}  // namespace

Result<Index> Index::of_files(std::span<const std::string> files, std::uint64_t& strange,
                              const Progress& progress) {
  auto database = Database::open({});
  if (!database) return fail(unusable_index());
  Index index(Fd(), std::move(*database));
  if (!index.prepare_tables() || !index.database_.run("BEGIN")) return fail(unusable_index());
  strange = 0;
  FileRecords records(index.database_, strange, progress);
  for (const std::string& file : files) CORDON_CHECK(records.read(file));
  if (!records.finish() || !index.database_.run("COMMIT")) return fail(unusable_index());
  return index;
}

Result<Lines> Index::lines(const Event& event) const {
  Statement statement = database_.prepare(
      "SELECT pending_day, pending_offset, closing_day, closing_offset FROM event WHERE seq=?");
  if (!statement.valid() || !statement.bind(1, static_cast<std::int64_t>(event.seq)).step()) {
    return fail(unusable_index());
  }
  const auto at = [&](int day, int offset) -> std::string {
    if (statement.text(day).empty()) return {};
    return line_at(directory_.get(), statement.text(day),
                   static_cast<std::uint64_t>(statement.number(offset)))
        .value_or("");
  };
  return Lines{at(0, 1), at(2, 3)};
}

}  // namespace cordon::audit
