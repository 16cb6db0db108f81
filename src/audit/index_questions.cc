// What is asked of the index: rows of its tables as actions and as numbers of them.
#include <functional>

#include "audit/index.h"
#include "audit/index_update.h"
#include "audit/record.h"
#include "base/text.h"

namespace cordon::audit {
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
    constexpr const char* kLabelled =
        "seq IN (SELECT seq FROM label WHERE word = (SELECT id FROM word WHERE text = ?))";
    if (filter.in_session) {
      // ';' comes behind ':'.
      add("seq IN (SELECT seq FROM label JOIN word ON word.id = label.word"
          " WHERE text >= ? AND text < 'session;')",
          std::string("session:"));
    }
    if (!filter.session.empty()) add(kLabelled, "session:" + filter.session);
    if (!filter.agent.empty()) add(kLabelled, "agent:" + filter.agent);
    if (filter.without_agent) {
      // ';' comes behind ':'.
      add("seq NOT IN (SELECT seq FROM label JOIN word ON word.id = label.word"
          " WHERE text >= ? AND text < 'agent;')",
          std::string("agent:"));
    }
    if (!filter.path.empty()) add(kLabelled, std::string(searched_label(filter.path)));
    if (filter.own != OwnRuns::With) {
      static_assert(kOwnActions.size() == 2);
      add(filter.own == OwnRuns::Alone ? "coalesce(action, '') IN (?, ?)"
                                       : "coalesce(action, '') NOT IN (?, ?)",
          std::string(kOwnActions[0]));
      bind(std::string(kOwnActions[1]));
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
