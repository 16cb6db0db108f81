#include "ship/fleet.h"

#include "audit/decode_line.h"
#include "audit/record.h"
#include "base/text.h"

namespace cordon::ship {
namespace {

// As long as it takes: the person can end it.
constexpr int kNoLimit = -1;

// The conditions of a filter; what a person typed is bound, never part of the text.
class Where {
 public:
  explicit Where(const FleetFilter& filter) {
    if (filter.since_us) add("begun >= ", Parameter::moment(*filter.since_us));
    if (filter.until_us) add("begun < ", Parameter::moment(*filter.until_us));
    if (!filter.tool.empty()) add("tool = ", Parameter::text(filter.tool));
    if (!filter.node.empty()) add("node = ", Parameter::text(filter.node));
    if (!filter.outcome.empty()) {
      add("(outcome = ", Parameter::text(filter.outcome));
      text_ += " OR reason = $" + std::to_string(values_.size()) + ")";
    }
    if (filter.denied)
      text_ +=
          std::string(text_.empty() ? " WHERE " : " AND ") + "(denials > 0 OR reason = 'denied')";
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<Parameter>& values() const { return values_; }

 private:
  void add(const char* condition, Parameter value) {
    values_.push_back(std::move(value));
    text_ += text_.empty() ? " WHERE " : " AND ";
    text_ += condition + ("$" + std::to_string(values_.size()));
  }
  std::string text_;
  std::vector<Parameter> values_;
};

void take_end(const audit::Record& record, audit::Event& event) {
  event.ended_us = record.wall_us;
  event.outcome = record.outcome;
  event.reason = record.reason;
  event.exit_code = audit::number_in(*record.metadata, "exit_code");
  event.signal = audit::text_in(*record.metadata, "signal").value_or("");
  event.duration_ms = audit::number_in(*record.metadata, "duration_ms");
  event.denials = audit::number_in(*record.metadata, "denial_count").value_or(0);
  event.error_kind = audit::text_in(*record.metadata, "error_kind").value_or("");
}

std::optional<audit::Event> event_of(const std::string& first,
                                     const std::optional<std::string>& end) {
  const auto begun = audit::decode_line(first);
  if (!begun) return std::nullopt;
  const LineValue* const asked = begun->metadata->find("request");
  const LineValue& request = asked == nullptr ? *begun->metadata : *asked;
  audit::Event event;
  event.seq = begun->seq;
  event.event_id = begun->event_id;
  event.begun_us = begun->wall_us;
  event.action = begun->action;
  event.tool = audit::text_in(request, "tool").value_or("");
  event.resource = begun->resource;
  event.cwd = audit::text_in(request, "cwd").value_or("");
  event.outcome = "pending";
  event.backend = audit::text_in(request, "backend").value_or("");
  if (begun->phase == audit::Phase::Closing) take_end(*begun, event);
  if (!end) return event;
  if (const auto ended = audit::decode_line(*end)) take_end(*ended, event);
  return event;
}

}  // namespace

Answer<std::vector<FleetEvent>> list(Database& database, const FleetFilter& filter) {
  const Where where(filter);
  std::string text = "SELECT node, begun_line, ended_line FROM cordon.actions" + where.text() +
                     " ORDER BY begun DESC, node, seq DESC";
  if (filter.limit) text += " LIMIT " + std::to_string(*filter.limit);
  CORDON_TRY(rows, database.ask(text.c_str(), where.values(), kNoLimit));
  std::vector<FleetEvent> events;
  for (int row = 0; row < rows.count(); ++row) {
    auto event = event_of(rows.text(row, 1).value_or(""), rows.text(row, 2));
    // Its columns say that it is one, its line does not: verify tells.
    if (event) events.push_back({rows.text(row, 0).value_or(""), std::move(*event)});
  }
  return events;
}

Answer<std::vector<FleetTally>> tally(Database& database, const FleetFilter& filter) {
  const Where where(filter);
  const std::string text =
      "SELECT node, to_char(begun AT TIME ZONE 'UTC', 'YYYY-MM-DD'), tool, outcome, reason,"
      " count(*)::text, sum(duration_ms)::text, sum(denials)::text FROM cordon.actions" +
      where.text() + " GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5";
  CORDON_TRY(rows, database.ask(text.c_str(), where.values(), kNoLimit));
  std::vector<FleetTally> tallies;
  for (int row = 0; row < rows.count(); ++row) {
    const auto word = [&](int column) { return rows.text(row, column).value_or(""); };
    const auto number = [&](int column) {
      return static_cast<std::uint64_t>(rows.number(row, column).value_or(0));
    };
    tallies.push_back(
        {word(0), {word(1), word(2), word(3), word(4), number(5), number(6), number(7)}});
  }
  return tallies;
}

namespace {

// cordon.actions with the numbers of its records and when they were received.
constexpr const char* kExported =
    "SELECT a.node, a.seq::text, a.begun_line,"
    " (extract(epoch FROM a.begun_received) * 1000000)::bigint::text, a.ended_seq::text,"
    " a.ended_line, (extract(epoch FROM a.ended_received) * 1000000)::bigint::text FROM"
    " (SELECT f.node, f.seq, f.line AS begun_line, f.received AS begun_received, f.at AS begun,"
    " c.seq AS ended_seq, c.line AS ended_line, c.received AS ended_received,"
    " coalesce(f.tool, f.action) AS tool, coalesce(c.outcome, f.outcome) AS outcome,"
    " coalesce(c.reason, f.reason) AS reason, coalesce(c.denials, f.denials, 0) AS denials"
    " FROM cordon.records f LEFT JOIN cordon.records c"
    " ON f.phase = 'pending' AND c.node = f.node AND c.pending_seq = f.seq"
    " WHERE f.phase = 'pending' OR (f.phase = 'closing' AND f.pending_seq IS NULL)) a";
constexpr const char* kNext = "FETCH FORWARD 2000 FROM exported";

}  // namespace

Answer<void> each(Database& database, const FleetFilter& filter,
                  const std::function<bool(const audit::FleetLine&)>& take) {
  const Where where(filter);
  std::string wanted = kExported + where.text();
  // By the number: the name alone would mean the text of the answer.
  if (filter.limit) {
    wanted = "SELECT * FROM (" + wanted + " ORDER BY a.begun DESC, a.node, a.seq DESC LIMIT " +
             std::to_string(*filter.limit) + ") newest ORDER BY newest.node, newest.seq::bigint";
  } else {
    wanted += " ORDER BY a.node, a.seq";
  }
  const std::string declare = "DECLARE exported NO SCROLL CURSOR FOR " + wanted;
  // One state of the database, whatever nodes add meanwhile.
  CORDON_CHECK(database.ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", kNoLimit));
  CORDON_CHECK(database.ask(declare.c_str(), where.values(), kNoLimit));
  for (;;) {
    CORDON_TRY(rows, database.ask(kNext, kNoLimit));
    if (rows.count() == 0) break;
    for (int row = 0; row < rows.count(); ++row) {
      const auto line = [&](int at) {
        return audit::FleetLine{rows.text(row, 0).value_or(""),
                                static_cast<std::uint64_t>(rows.number(row, at).value_or(0)),
                                rows.number(row, at == 1 ? 3 : 6).value_or(0),
                                rows.text(row, at == 1 ? 2 : 5).value_or("")};
      };
      if (!take(line(1))) return {};
      if (rows.text(row, 4) && !take(line(4))) return {};
    }
  }
  CORDON_CHECK(database.ask("COMMIT", kNoLimit));
  return {};
}

}  // namespace cordon::ship
