#include "audit/index_update.h"

#include <algorithm>

#include "audit/record.h"

namespace cordon::audit {
namespace {

void bind_text(Statement& statement, int at, std::string_view text) {
  if (text.empty()) {
    statement.bind_null(at);
  } else {
    statement.lend(at, text);
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

// How an action ended: the eight columns from `ended` on, in the order of both statements.
void bind_end(Statement& statement, int at, const Record& record, const std::string& day,
              std::uint64_t offset) {
  statement.bind(at, record.wall_us);
  bind_number(statement, at + 1, number_in(*record.metadata, "exit_code"));
  bind_text(statement, at + 2, text_in(*record.metadata, "signal").value_or(""));
  bind_number(statement, at + 3, number_in(*record.metadata, "duration_ms"));
  statement.bind(at + 4, number_in(*record.metadata, "denial_count").value_or(0));
  bind_text(statement, at + 5, text_in(*record.metadata, "error_kind").value_or(""));
  statement.lend(at + 6, day).bind(at + 7, signed_of(offset));
}

}  // namespace

const char* const kIndexTables =
    "PRAGMA user_version = 2;"
    "CREATE TABLE followed(day TEXT, line_start INTEGER, offset INTEGER, hash TEXT);"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, event_id TEXT NOT NULL, begun INTEGER NOT NULL,"
    " ended INTEGER, day INTEGER NOT NULL, action TEXT, tool TEXT, resource TEXT, cwd TEXT,"
    " outcome TEXT, reason TEXT, backend TEXT, exit_code INTEGER, signal TEXT, duration INTEGER,"
    " denials INTEGER, error_kind TEXT, pending_day TEXT, pending_offset INTEGER,"
    " closing_day TEXT, closing_offset INTEGER);"
    "CREATE UNIQUE INDEX event_by_id ON event(event_id);"
    "CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
    "CREATE TABLE label(word INTEGER, seq INTEGER, PRIMARY KEY(word, seq)) WITHOUT ROWID;";

// Made behind the first filling: sorting at the end is quicker than keeping in order.
const char* const kIndexOrders =
    "CREATE INDEX IF NOT EXISTS event_by_time ON event(begun);"
    "CREATE INDEX IF NOT EXISTS event_by_day ON event(day, tool, action, outcome, reason, begun,"
    " duration, denials);";

std::string_view searched_label(std::string_view label) {
  const std::size_t hash = label.find('#');
  return hash == std::string_view::npos ? label : label.substr(hash);
}

IndexUpdate::Insertion::Insertion(const Database& database, const std::string& columns_and_values)
    : fresh(database.prepare("INSERT INTO " + columns_and_values)),
      replacing(database.prepare("INSERT OR REPLACE INTO " + columns_and_values)) {}

IndexUpdate::IndexUpdate(const Database& database)
    : begin_(database,
             "event(seq, event_id, begun, day, action, tool, resource, cwd, outcome, backend,"
             " denials, pending_day, pending_offset) VALUES(?,?,?,?,?,?,?,?,?,?,0,?,?)"),
      both_(database,
            "event(seq, event_id, begun, day, action, tool, resource, cwd, backend, pending_day,"
            " pending_offset, outcome, reason, ended, exit_code, signal, duration, denials,"
            " error_kind, closing_day, closing_offset)"
            " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      end_(database.prepare(
          "INSERT INTO event(seq, event_id, begun, day, action, tool, resource, cwd, outcome,"
          " reason, backend, ended, exit_code, signal, duration, denials, error_kind, closing_day,"
          " closing_offset) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
          " ON CONFLICT(event_id) DO UPDATE SET outcome=excluded.outcome, reason=excluded.reason,"
          " ended=excluded.ended, exit_code=excluded.exit_code, signal=excluded.signal,"
          " duration=excluded.duration, denials=excluded.denials, error_kind=excluded.error_kind,"
          " closing_day=excluded.closing_day, closing_offset=excluded.closing_offset")),
      word_(database.prepare("INSERT INTO word(text) VALUES(?)"
                             " ON CONFLICT(text) DO UPDATE SET text=excluded.text RETURNING id")),
      label_(database.prepare("INSERT OR IGNORE INTO label(word, seq) VALUES(?,?)")),
      follow_(database.prepare("INSERT INTO followed VALUES(?,?,?,?)")) {}

// A label stands in thousands of actions: each is stored once, and its number beside the action's.
std::optional<std::int64_t> IndexUpdate::word_of(std::string_view text) {
  constexpr std::size_t kMostWords = 100'000;
  const auto known = words_.find(text);
  if (known != words_.end()) return known->second;
  if (!word_.bind(1, text).step()) return std::nullopt;
  const std::int64_t id = word_.number(0);
  word_.reset();
  if (words_.size() == kMostWords) words_.clear();
  words_.emplace(std::string(text), id);
  return id;
}

bool IndexUpdate::add_word(std::uint64_t seq, std::string_view text) {
  const auto word = word_of(text);
  return word && label_.bind(1, *word).bind(2, signed_of(seq)).run();
}

// Who acted stands among the labels, where no path can be called so: paths begin with '/' or '@'.
bool IndexUpdate::label_of_who(std::string_view kind, std::string_view who, std::uint64_t seq) {
  return add_word(seq, std::string(kind).append(":").append(who));
}

bool IndexUpdate::add_label(std::uint64_t seq, std::string_view label) {
  return label.empty() || add_word(seq, searched_label(label));
}

bool IndexUpdate::add_labels(std::uint64_t seq, const Record& record, const LineValue& request) {
  const std::string_view cwd = text_in(request, "cwd").value_or("");
  bool good = add_label(seq, record.resource) && (cwd == record.resource || add_label(seq, cwd));
  for (const char* name : {"session", "agent"}) {
    const auto who = text_in(request, name);
    if (who) good = good && label_of_who(name, *who, seq);
  }
  for (const char* name : {"read", "write"}) {
    const LineValue* labels = request.find(name);
    if (labels == nullptr || labels->kind != LineValue::Kind::List) continue;
    for (const LineValue& label : *labels) {
      good = good && (label.kind != LineValue::Kind::Text || add_label(seq, label.text));
    }
  }
  return good;
}

bool IndexUpdate::begin_event(std::uint64_t seq, const Record& record, const std::string& day,
                              std::uint64_t offset) {
  constexpr std::size_t kMostBegun = 4096;
  if (begun_.size() == kMostBegun && !finish()) return false;
  Begun begun{seq,
              record.wall_us,
              std::string(record.action),
              std::string(text_in(*record.metadata, "tool").value_or("")),
              std::string(record.resource),
              std::string(text_in(*record.metadata, "cwd").value_or("")),
              std::string(text_in(*record.metadata, "backend").value_or("")),
              day,
              offset};
  begun_.insert_or_assign(std::string(record.event_id), std::move(begun));
  return add_labels(seq, record, *record.metadata);
}

bool IndexUpdate::write_begun(const std::string& event_id, const Begun& begun) {
  return begin_.run([&](Statement& row) {
    row.bind(1, signed_of(begun.seq)).lend(2, event_id).bind(3, begun.wall_us);
    row.bind(4, begun.wall_us / kDayUs);
    bind_text(row, 5, begun.action);
    bind_text(row, 6, begun.tool);
    bind_text(row, 7, begun.resource);
    bind_text(row, 8, begun.cwd);
    row.lend(9, "pending");
    bind_text(row, 10, begun.backend);
    row.lend(11, begun.day).bind(12, signed_of(begun.offset));
  });
}

bool IndexUpdate::finish() {
  const bool good = std::ranges::all_of(
      begun_, [&](const auto& entry) { return write_begun(entry.first, entry.second); });
  begun_.clear();
  return good;
}

bool IndexUpdate::write_both(const Begun& begun, const Record& record, const std::string& day,
                             std::uint64_t offset) {
  return both_.run([&](Statement& row) {
    row.bind(1, signed_of(begun.seq)).lend(2, record.event_id).bind(3, begun.wall_us);
    row.bind(4, begun.wall_us / kDayUs);
    bind_text(row, 5, begun.action);
    bind_text(row, 6, begun.tool);
    bind_text(row, 7, begun.resource);
    bind_text(row, 8, begun.cwd);
    bind_text(row, 9, begun.backend);
    row.lend(10, begun.day).bind(11, signed_of(begun.offset));
    bind_text(row, 12, record.outcome);
    bind_text(row, 13, record.reason);
    bind_end(row, 14, record, day, offset);
  });
}

bool IndexUpdate::end_event(std::uint64_t seq, const Record& record, const std::string& day,
                            std::uint64_t offset) {
  static constexpr LineValue kNothing{};
  const LineValue* asked = record.metadata->find("request");
  const LineValue& request = asked == nullptr ? kNothing : *asked;
  const bool has_request = request.kind == LineValue::Kind::Map;
  if (const auto found = begun_.find(record.event_id); found != begun_.end()) {
    const auto begun = begun_.extract(found);
    return write_both(begun.mapped(), record, day, offset) &&
           (!has_request || add_labels(begun.mapped().seq, record, request));
  }
  end_.bind(1, signed_of(seq)).lend(2, record.event_id).bind(3, record.wall_us);
  end_.bind(4, record.wall_us / kDayUs);
  bind_text(end_, 5, record.action);
  bind_text(end_, 6, text_in(request, "tool").value_or(""));
  bind_text(end_, 7, record.resource);
  bind_text(end_, 8, text_in(request, "cwd").value_or(""));
  bind_text(end_, 9, record.outcome);
  bind_text(end_, 10, record.reason);
  bind_text(end_, 11, text_in(request, "backend").value_or(""));
  bind_end(end_, 12, record, day, offset);
  return end_.run() && (!has_request || add_labels(seq, record, request));
}

bool IndexUpdate::take_as(std::uint64_t seq, const Record& record, const std::string& day,
                          std::uint64_t offset) {
  switch (record.phase) {
    case Phase::Pending:
      return begin_event(seq, record, day, offset);
    case Phase::Closing:
      return end_event(seq, record, day, offset);
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

}  // namespace cordon::audit
