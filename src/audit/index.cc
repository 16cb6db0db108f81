#include "audit/index.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <functional>

#include "audit/decoded_lines.h"
#include "audit/files.h"
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

Result<void> Index::update(const Progress& progress) {
  CORDON_TRY(days, list_days(directory_.get()));
  if (!database_.run("BEGIN IMMEDIATE")) return fail(unusable_index());
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
    CORDON_TRY(file, open_private_file(directory_.get(), file_of_day(day), O_RDONLY));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(unusable_index());
    DecodedLines lines(file.get(), day == followed.day ? followed.offset : 0,
                       static_cast<std::uint64_t>(status.st_size), std::nullopt);
    for (;;) {
      CORDON_TRY(decoded, lines.next());
      // A torn line is cut off or completed by a writer; it is looked at again.
      if (decoded == nullptr || !decoded->line.complete) break;
      const Line& line = decoded->line;
      done += line.length + 1;
      if (progress && line.number % 4096 == 0) progress(done, total);
      if (!decoded->record) continue;
      const Result<Record>& record = *decoded->record;
      if (!record || !record->intact) continue;  // verify tells
      if (!update.take(*record, day, line.offset)) return fail(unusable_index());
      followed = {day, line.offset, line.end(), record->hash};
      moved = true;
    }
  }
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

namespace {

void bind_text(Statement& statement, int at, const std::string& text) {
  if (text.empty()) {
    statement.bind_null(at);
  } else {
    statement.bind(at, text);
  }
}

void bind_number(Statement& statement, int at, const std::optional<std::int64_t>& number) {
  if (number) {
    statement.bind(at, *number);
  } else {
    statement.bind_null(at);
  }
}

std::int64_t signed_of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

const char* const kIndexTables =
    "PRAGMA user_version = 1;"
    "CREATE TABLE followed(day TEXT, line_start INTEGER, offset INTEGER, hash TEXT);"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, event_id TEXT NOT NULL, begun INTEGER NOT NULL,"
    " ended INTEGER, day INTEGER NOT NULL, action TEXT, tool TEXT, resource TEXT, cwd TEXT,"
    " outcome TEXT, reason TEXT, backend TEXT, exit_code INTEGER, signal TEXT, duration INTEGER,"
    " denials INTEGER, error_kind TEXT, pending_day TEXT, pending_offset INTEGER,"
    " closing_day TEXT, closing_offset INTEGER);"
    "CREATE UNIQUE INDEX event_by_id ON event(event_id);"
    "CREATE TABLE label(label TEXT, seq INTEGER, PRIMARY KEY(label, seq)) WITHOUT ROWID;";

// Made behind the first filling: sorting at the end is quicker than keeping in order.
const char* const kIndexOrders =
    "CREATE INDEX IF NOT EXISTS event_by_time ON event(begun);"
    "CREATE INDEX IF NOT EXISTS event_by_day ON event(day, tool, action, outcome, reason, begun,"
    " duration, denials);";

std::string searched_label(const std::string& label) {
  const std::size_t hash = label.find('#');
  return hash == std::string::npos ? label : label.substr(hash);
}

IndexUpdate::IndexUpdate(const Database& database)
    : begin_(database.prepare(
          "INSERT OR REPLACE INTO event(seq, event_id, begun, day, action, tool, resource, cwd,"
          " outcome, backend, denials, pending_day, pending_offset)"
          " VALUES(?,?,?,?,?,?,?,?,?,?,0,?,?)")),
      end_(database.prepare(
          "INSERT INTO event(seq, event_id, begun, day, action, tool, resource, cwd, outcome,"
          " reason, backend, ended, exit_code, signal, duration, denials, error_kind, closing_day,"
          " closing_offset) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
          " ON CONFLICT(event_id) DO UPDATE SET outcome=excluded.outcome, reason=excluded.reason,"
          " ended=excluded.ended, exit_code=excluded.exit_code, signal=excluded.signal,"
          " duration=excluded.duration, denials=excluded.denials, error_kind=excluded.error_kind,"
          " closing_day=excluded.closing_day, closing_offset=excluded.closing_offset")),
      label_(database.prepare("INSERT OR IGNORE INTO label(label, seq) VALUES(?,?)")),
      follow_(database.prepare("INSERT INTO followed VALUES(?,?,?,?)")) {}

// Who acted stands among the labels, where no path can be called so: paths begin with '/' or '@'.
bool IndexUpdate::label_of_who(const std::string& kind, const std::string& who, std::uint64_t seq) {
  return label_.bind(1, kind + ":" + who).bind(2, signed_of(seq)).run();
}

bool IndexUpdate::add_label(std::uint64_t seq, const std::string& label) {
  if (label.empty()) return true;
  return label_.bind(1, searched_label(label)).bind(2, signed_of(seq)).run();
}

bool IndexUpdate::add_labels(std::uint64_t seq, const Record& record, const Node& request) {
  bool good =
      add_label(seq, record.resource) && add_label(seq, text_in(request, "cwd").value_or(""));
  for (const char* name : {"session", "agent"}) {
    const auto who = text_in(request, name);
    if (who) good = good && label_of_who(name, *who, seq);
  }
  for (const char* list : {"read", "write"}) {
    const Node* labels = request.find(list);
    if (labels == nullptr || labels->list() == nullptr) continue;
    for (const Node& label : *labels->list()) {
      good = good && (label.text() == nullptr || add_label(seq, *label.text()));
    }
  }
  return good;
}

bool IndexUpdate::begin_event(const Record& record, const std::string& day, std::uint64_t offset) {
  begin_.bind(1, signed_of(record.seq)).bind(2, record.event_id).bind(3, record.wall_us);
  begin_.bind(4, record.wall_us / kDayUs);
  bind_text(begin_, 5, record.action);
  bind_text(begin_, 6, text_in(record.metadata, "tool").value_or(""));
  bind_text(begin_, 7, record.resource);
  bind_text(begin_, 8, text_in(record.metadata, "cwd").value_or(""));
  bind_text(begin_, 9, record.outcome);
  bind_text(begin_, 10, text_in(record.metadata, "backend").value_or(""));
  begin_.bind(11, day).bind(12, signed_of(offset));
  return begin_.run() && add_labels(record.seq, record, record.metadata);
}

bool IndexUpdate::end_event(const Record& record, const std::string& day, std::uint64_t offset) {
  const Node* asked = record.metadata.find("request");
  const Node request = asked == nullptr ? Node() : *asked;
  end_.bind(1, signed_of(record.seq)).bind(2, record.event_id).bind(3, record.wall_us);
  end_.bind(4, record.wall_us / kDayUs);
  bind_text(end_, 5, record.action);
  bind_text(end_, 6, text_in(request, "tool").value_or(""));
  bind_text(end_, 7, record.resource);
  bind_text(end_, 8, text_in(request, "cwd").value_or(""));
  bind_text(end_, 9, record.outcome);
  bind_text(end_, 10, record.reason);
  bind_text(end_, 11, text_in(request, "backend").value_or(""));
  end_.bind(12, record.wall_us);
  bind_number(end_, 13, number_in(record.metadata, "exit_code"));
  bind_text(end_, 14, text_in(record.metadata, "signal").value_or(""));
  bind_number(end_, 15, number_in(record.metadata, "duration_ms"));
  end_.bind(16, number_in(record.metadata, "denial_count").value_or(0));
  bind_text(end_, 17, text_in(record.metadata, "error_kind").value_or(""));
  end_.bind(18, day).bind(19, signed_of(offset));
  return end_.run() && (request.map() == nullptr || add_labels(record.seq, record, request));
}

bool IndexUpdate::take(const Record& record, const std::string& day, std::uint64_t offset) {
  switch (record.phase) {
    case Phase::Pending:
      return begin_event(record, day, offset);
    case Phase::Closing:
      return end_event(record, day, offset);
    case Phase::Note:
      return true;
  }
  return true;
}

bool IndexUpdate::follow(const Followed& followed) {
  return follow_.bind(1, followed.day)
      .bind(2, signed_of(followed.line_start))
      .bind(3, signed_of(followed.offset))
      .bind(4, followed.hash)
      .run();
}

namespace {

constexpr const char* kColumns =
    "seq, event_id, begun, ended, action, tool, resource, cwd, outcome, reason, backend,"
    " exit_code, signal, duration, denials, error_kind";

Event event_in(const Statement& row) {
  Event event;
  event.seq = static_cast<std::uint64_t>(row.number(0));
  event.event_id = row.text(1);
  event.begun_us = row.number(2);
  event.ended_us = row.number_or_null(3);
  event.action = row.text(4);
  event.tool = row.text(5);
  event.resource = row.text(6);
  event.cwd = row.text(7);
  event.outcome = row.text(8);
  event.reason = row.text(9);
  event.backend = row.text(10);
  event.exit_code = row.number_or_null(11);
  event.signal = row.text(12);
  event.duration_ms = row.number_or_null(13);
  event.denials = row.number(14);
  event.error_kind = row.text(15);
  return event;
}

// The conditions of a filter; what a person typed is bound, never part of the text.
class Where {
 public:
  explicit Where(const Filter& filter) {
    if (filter.since_us) add("begun >= ?", *filter.since_us);
    if (filter.until_us) add("begun < ?", *filter.until_us);
    if (!filter.outcome.empty()) {
      add("(outcome = ?", filter.outcome);
      text_ += " OR reason = ?)";
      bind(filter.outcome);
    }
    if (filter.denied) add("(denials > ? OR reason = 'denied')", std::int64_t{0});
    if (!filter.tool.empty()) add("coalesce(tool, action) = ?", filter.tool);
    constexpr const char* kLabelled = "seq IN (SELECT seq FROM label WHERE label = ?)";
    if (filter.in_session) {
      // ';' comes behind ':'.
      add("seq IN (SELECT seq FROM label WHERE label >= ? AND label < 'session;')",
          std::string("session:"));
    }
    if (!filter.session.empty()) add(kLabelled, "session:" + filter.session);
    if (!filter.agent.empty()) add(kLabelled, "agent:" + filter.agent);
    if (filter.without_agent) {
      // ';' comes behind ':'.
      add("seq NOT IN (SELECT seq FROM label WHERE label >= ? AND label < 'agent;')",
          std::string("agent:"));
    }
    if (!filter.path.empty()) {
      add("seq IN (SELECT seq FROM label WHERE label = ?)", searched_label(filter.path));
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  void bind_to(Statement& statement) const {
    int at = 0;
    for (const auto& binder : binders_) binder(statement, ++at);
  }

 private:
  template <typename T>
  void add(const char* condition, const T& value) {
    text_ += text_.empty() ? " WHERE " : " AND ";
    text_ += condition;
    bind(value);
  }
  template <typename T>
  void bind(const T& value) {
    binders_.push_back([value](Statement& statement, int at) { statement.bind(at, value); });
  }
  std::string text_;
  std::vector<std::function<void(Statement&, int)>> binders_;
};

Result<std::vector<Event>> events_of(Statement& statement) {
  std::vector<Event> events;
  if (!statement.valid()) return fail(unusable_index());
  while (statement.step()) events.push_back(event_in(statement));
  if (statement.failed()) return fail(unusable_index());
  return events;
}

}  // namespace

Result<std::vector<Event>> Index::list(const Filter& filter) const {
  const Where where(filter);
  std::string text =
      std::string("SELECT ") + kColumns + " FROM event" + where.text() + " ORDER BY seq DESC";
  if (filter.limit) text += " LIMIT " + std::to_string(*filter.limit);
  Statement statement = database_.prepare(text);
  if (statement.valid()) where.bind_to(statement);
  return events_of(statement);
}

Result<void> Index::each(const Filter& filter,
                         const std::function<bool(const Event&)>& take) const {
  const Where where(filter);
  const std::string select = std::string("SELECT ") + kColumns + " FROM event" + where.text();
  const std::string text = filter.limit ? "SELECT * FROM (" + select + " ORDER BY seq DESC LIMIT " +
                                              std::to_string(*filter.limit) + ") ORDER BY seq"
                                        : select + " ORDER BY seq";
  Statement statement = database_.prepare(text);
  if (!statement.valid()) return fail(unusable_index());
  where.bind_to(statement);
  while (statement.step()) {
    if (!take(event_in(statement))) return {};
  }
  if (statement.failed()) return fail(unusable_index());
  return {};
}

Result<std::vector<Event>> Index::find(const std::string& id) const {
  const std::string select = std::string("SELECT ") + kColumns + " FROM event WHERE ";
  if (const auto seq = parse_number(id)) {
    Statement statement = database_.prepare(select + "seq = ?");
    if (statement.valid()) statement.bind(1, static_cast<std::int64_t>(*seq));
    CORDON_TRY(found, events_of(statement));
    if (!found.empty()) return found;
  }
  // A range and not a pattern: '%' and '_' of a person mean nothing here.
  Statement statement =
      database_.prepare(select + "event_id >= ? AND event_id < ? ORDER BY seq LIMIT 3");
  if (statement.valid()) statement.bind(1, id).bind(2, id + "g");
  return events_of(statement);
}

Result<std::vector<Tally>> Index::tally(const Filter& filter) const {
  const Where where(filter);
  // Grouped in the order of an index that holds every column of this: nothing is sorted.
  Statement statement = database_.prepare(
      "SELECT day, tool, action, outcome, reason, count(*), sum(duration), sum(denials)"
      " FROM event" +
      where.text() + " GROUP BY day, tool, action, outcome, reason");
  if (!statement.valid()) return fail(unusable_index());
  where.bind_to(statement);
  std::vector<Tally> tallies;
  while (statement.step()) {
    const std::string tool = statement.text(1);
    tallies.push_back({day_of(statement.number(0) * kDayUs),
                       tool.empty() ? statement.text(2) : tool, statement.text(3),
                       statement.text(4), static_cast<std::uint64_t>(statement.number(5)),
                       static_cast<std::uint64_t>(statement.number(6)),
                       static_cast<std::uint64_t>(statement.number(7))});
  }
  if (statement.failed()) return fail(unusable_index());
  return tallies;
}

}  // namespace cordon::audit
