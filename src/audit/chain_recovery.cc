// What a writer does when the log does not end where its head says. A writer that was killed leaves
// one line more, whole or torn; a power cut takes what was not synced, and may bring back an older
// head. Everything else is left as it is and refused.

#include "audit/chain.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>

#include "audit/files.h"
#include "base/text.h"

namespace cordon::audit {
namespace {

Error contradiction(std::string what) {
  return audit_error(std::move(what), 0,
                     "cordon audit verify names the place; move the audit directory aside to begin "
                     "a new log");
}

OpenEntry entry_of(const Record& record, const std::string& day, std::uint64_t offset) {
  OpenEntry entry;
  entry.seq = record.seq;
  entry.event_id = record.event_id;
  entry.day = day;
  entry.offset = offset;
  entry.boot_ms = record.boot_ms;
  if (const LineValue* writer = record.metadata->find("writer")) {
    entry.pid = static_cast<std::uint64_t>(number_in(*writer, "pid").value_or(0));
    entry.pid_namespace =
        static_cast<std::uint64_t>(number_in(*writer, "pid_namespace").value_or(0));
  }
  return entry;
}

// Where the records of a log really end.
struct End {
  Link last;
  std::string day;
  std::uint64_t size = 0;       // behind the last record
  std::uint64_t file_size = 0;  // of that file: more if something follows
  bool met_head = false;        // the record that the head names was seen
  [[nodiscard]] bool has_leftover() const { return size != file_size; }
};

// Whether the line is one that a writer with this key could have left. A hash anybody can compute:
// a line behind the head that has no mac was put there by somebody else, and so was one without the
// right mac.
bool is_ours(const Line& line, const Record& record, const Head& head, const Key& key) {
  return record.intact && (!head.keys(record.seq) || is_keyed(key, line.text, record));
}

bool follows(const Record& record, const End& end, bool first) {
  if (first) return true;
  // A recovery may have skipped numbers that a power cut took; verify judges that.
  return record.prev == end.last.hash && record.seq > end.last.seq;
}

// Walks one file as far as its records follow one another.
Result<void> walk(int directory, const std::string& day, const Head& head, const Key& key,
                  End& end) {
  CORDON_TRY(file, open_private_file(directory, file_of_day(day), O_RDONLY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail(audit_error("cannot examine a day", errno));
  if (status.st_size == 0 && day > head.day) return {};
  if (end.has_leftover()) return fail(contradiction("a day in the middle of the log is damaged"));
  bool first = end.last.seq == 0;
  end.day = day;
  end.size = 0;
  end.file_size = static_cast<std::uint64_t>(status.st_size);
  LineReader reader(file.get(), 0, end.file_size);
  Line line;
  for (;;) {
    CORDON_TRY(more, reader.next(line));
    if (!more || !line.complete || line.overlong) return {};
    const auto record = decode_line(line.text);
    if (!record || !record->intact || !follows(*record, end, first)) return {};
    if (!is_ours(line, *record, head, key)) {
      return fail(contradiction("audit/" + file_of_day(day) + " holds record " +
                                std::to_string(record->seq) +
                                ", which was not written with audit/key"));
    }
    first = false;
    end.last = {record->seq, record->digest};
    end.size = line.end();
    if (end.last == head.last) end.met_head = true;
  }
}

// The file of the day before is walked too: all of the last one may be lost.
Result<End> find_end(int directory, const Head& head, const Key& key) {
  CORDON_TRY(days, list_days(directory));
  const auto here = std::ranges::lower_bound(days, head.day);
  if (here == days.end() || *here != head.day) {
    return fail(contradiction("audit/" + file_of_day(head.day) + " is missing"));
  }
  End end;
  for (auto day = here == days.begin() ? here : here - 1; day != days.end(); ++day) {
    CORDON_CHECK(walk(directory, *day, head, key, end));
  }
  // Nothing was written to the last day yet, and there is none before it.
  if (end.last.seq == 0 && head.size == 0) end.last = head.last;
  if (end.last.seq < std::min(head.synced, head.last.seq - head.lost)) {
    return fail(contradiction("records are missing that were on the disk"));
  }
  if (end.last.seq >= head.last.seq && !end.met_head && end.last != head.last && head.lost == 0) {
    return fail(contradiction("the log does not hold the record that audit/head names"));
  }
  return end;
}

// The next record tells it; a crash before that adds to the range.
void note_adopted(Head& head, std::uint64_t from, std::uint64_t to) {
  if (head.adopted_from == 0) head.adopted_from = from;
  head.adopted_to = to;
}

// Closing records without a pending one in the range belong to one that lies before it.
using Opened = std::map<std::string, OpenEntry>;

Result<void> search_open(int directory, const std::string& day, std::uint64_t from,
                         std::uint64_t until, Opened& opened) {
  CORDON_TRY(file, open_private_file(directory, file_of_day(day), O_RDONLY));
  LineReader reader(file.get(), from, until);
  Line line;
  for (;;) {
    CORDON_TRY(more, reader.next(line));
    if (!more) return {};
    const auto record = decode_line(line.text);
    if (!record) continue;
    if (record->phase == Phase::Pending) {
      OpenEntry entry = entry_of(*record, day, line.offset);
      entry.pid = 0;  // nobody lives through a restart
      opened[std::string(record->event_id)] = std::move(entry);
    } else if (record->phase == Phase::Closing) {
      opened.erase(std::string(record->event_id));
    }
  }
}

Result<std::vector<OpenEntry>> find_open(int directory, const Head& before, const Head& now) {
  CORDON_TRY(days, list_days(directory));
  Opened opened;
  for (const std::string& day : days) {
    if (day < before.open_day || day > now.day) continue;
    const std::uint64_t from = day == before.open_day ? before.open_offset : 0;
    const std::uint64_t until =
        day == now.day ? now.size : std::uint64_t{std::numeric_limits<off_t>::max()};
    if (from < until) CORDON_CHECK(search_open(directory, day, from, until, opened));
  }
  std::vector<OpenEntry> entries;
  for (auto& [id, entry] : opened) entries.push_back(std::move(entry));
  return entries;
}

}  // namespace

Result<void> Chain::settle() {
  const bool restarted = head_.boot_id != writer_.boot_id;
  if (restarted) CORDON_CHECK(settle_restart());
  if (!head_.day.empty()) {
    CORDON_CHECK(open_day(head_.day));
    CORDON_TRY(size, day_size());
    if (size != head_.size) CORDON_CHECK(settle_tail(size));
  }
  // The later day stays if the clock goes back.
  const std::string today = day_of(now_us_);
  if (head_.day < today) CORDON_CHECK(start_day(today));
  if (head_.cut_bytes != 0 || head_.lost != 0 || head_.adopted_from != 0)
    CORDON_CHECK(tell_recovery());
  return {};
}

// The host was started anew since the head was written.
Result<void> Chain::settle_restart() {
  Head head = head_;
  head.boot_id = writer_.boot_id;
  if (!head_.day.empty()) {
    CORDON_TRY(end, find_end(directory_.get(), head_, key_));
    if (end.last.seq > head_.last.seq) note_adopted(head, head_.last.seq + 1, end.last.seq);
    head.lost = end.last.seq < head_.last.seq ? head_.last.seq - end.last.seq : 0;
    head.cut_bytes += end.file_size - end.size;
    head.last = {std::max(end.last.seq, head_.last.seq), end.last.hash};
    head.day = end.day;
    head.size = end.size;
    head.synced = head.last.seq;
    CORDON_TRY(open, find_open(directory_.get(), head_, head));
    CORDON_CHECK(table_.replace(open));
  }
  place_oldest(head);
  CORDON_CHECK(write_head(head));
  if (head_.day.empty()) return {};
  day_file_.reset();
  CORDON_CHECK(open_day(head_.day));
  if (::ftruncate(day_file_.get(), static_cast<off_t>(head_.size)) != 0) {
    return fail(audit_error("cannot cut off a torn line", errno));
  }
  return {};
}

Result<void> Chain::adopt(const Record& record, std::uint64_t offset, std::uint64_t end) {
  if (record.phase == Phase::Pending && !table_.slot_of(record.event_id)) {
    CORDON_CHECK(table_.put(table_.free_slot(), entry_of(record, head_.day, offset)));
  }
  if (record.phase == Phase::Closing) {
    if (const auto slot = table_.slot_of(record.event_id)) CORDON_CHECK(table_.clear(*slot));
  }
  Head head = head_;
  head.last = {record.seq, record.digest};
  head.size = end;
  if (record.action == "audit.recovery" && record.phase == Phase::Note) {
    head.cut_bytes = 0;
    head.lost = 0;
    head.adopted_from = 0;
    head.adopted_to = 0;
  }
  note_adopted(head, record.seq, record.seq);
  if (record.mac && head.keyed_from == 0) head.keyed_from = record.seq;
  return write_head(head);
}

// A writer of this start of the host died between its record and the head.
Result<void> Chain::settle_tail(std::uint64_t size) {
  if (size < head_.size) {
    return fail(contradiction("audit/" + file_of_day(head_.day) + " is shorter than it was"));
  }
  if (size - head_.size > kLongestLine) {
    return fail(contradiction("audit/" + file_of_day(head_.day) + " is longer than it was"));
  }
  LineReader reader(day_file_.get(), head_.size, size);
  Line line;
  CORDON_TRY(more, reader.next(line));
  if (!more) return {};
  if (!line.complete) {
    Head head = head_;
    head.cut_bytes += size - head_.size;
    CORDON_CHECK(write_head(head));
    if (::ftruncate(day_file_.get(), static_cast<off_t>(head_.size)) != 0) {
      return fail(audit_error("cannot cut off a torn line", errno));
    }
    return {};
  }
  const auto record = decode_line(line.text);
  const bool next = record && is_ours(line, *record, head_, key_) &&
                    record->prev == head_.last.hash && record->seq == head_.last.seq + 1 &&
                    line.end() == size;
  if (!next) {
    return fail(contradiction("audit/" + file_of_day(head_.day) +
                              " ends with what is not the next record"));
  }
  return adopt(*record, line.offset, line.end());
}

Result<void> Chain::tell_recovery() {
  Node metadata;
  metadata.set("cut_bytes", Node(head_.cut_bytes))
      .set("lost_from", head_.lost == 0 ? Node() : Node(head_.last.seq - head_.lost + 1))
      .set("lost_to", head_.lost == 0 ? Node() : Node(head_.last.seq))
      .set("adopted_from", head_.adopted_from == 0 ? Node() : Node(head_.adopted_from))
      .set("adopted_to", head_.adopted_from == 0 ? Node() : Node(head_.adopted_to));
  CORDON_TRY(body, note("audit.recovery", std::move(metadata)));
  body.wall_us = now_us_;
  Head after;
  CORDON_CHECK(write_record(body, Durability::Later, after));
  after.cut_bytes = 0;
  after.lost = 0;
  after.adopted_from = 0;
  after.adopted_to = 0;
  return finish(std::move(after));
}

}  // namespace cordon::audit
