#include "audit/index_update.h"

#include "audit/moment.h"

namespace cordon::audit {
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
    "CREATE INDEX event_by_time ON event(begun);"
    "CREATE INDEX event_by_day ON event(day, tool, action, outcome, reason, begun, duration,"
    " denials);"
    "CREATE TABLE label(label TEXT, seq INTEGER, PRIMARY KEY(label, seq)) WITHOUT ROWID;";

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

bool IndexUpdate::add_label(std::uint64_t seq, const std::string& label) {
  if (label.empty()) return true;
  return label_.bind(1, searched_label(label)).bind(2, signed_of(seq)).run();
}

bool IndexUpdate::add_labels(std::uint64_t seq, const Record& record, const Node& request) {
  bool good =
      add_label(seq, record.resource) && add_label(seq, text_in(request, "cwd").value_or(""));
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

}  // namespace cordon::audit
