#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/talk.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

std::string table_of(const std::vector<audit::Event>& events) {
  TextTable table({{"SEQ", Align::Right},
                   {"BEGUN (UTC)"},
                   {"WHAT"},
                   {"RESOURCE"},
                   {"OUTCOME"},
                   {"TIME", Align::Right}});
  for (const audit::Event& event : events) {
    std::string moment = audit::format_moment(event.begun_us).substr(0, 19);
    moment[10] = ' ';
    const auto took = event.duration_ms.value_or(0);
    table.add({std::to_string(event.seq), moment, what_text(event), event.resource,
               outcome_text(event),
               took > 0 ? format_duration(static_cast<std::uint64_t>(took)) : ""});
  }
  return table.text();
}

std::string events_json(const std::vector<audit::Event>& events) {
  NodeList list;
  for (const audit::Event& event : events) list.push_back(event_node(event));
  Node node;
  node.set("events", Node(std::move(list)));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

Result<std::vector<audit::Event>> wanted(const Arguments& arguments) {
  CORDON_TRY(where, audit_place());
  CORDON_TRY(filter, audit_filter(arguments, where));
  CORDON_TRY(index, audit::Index::open(where.place, audit_progress("indexing")));
  return index.list(filter);
}

}  // namespace

int verb_audit_list(const Arguments& arguments) {
  const auto events = wanted(arguments);
  const bool none = !events && is_no_log(events.error());
  if (!events && !none) return audit_failure_status(events.error());
  const std::vector<audit::Event> found = events ? *events : std::vector<audit::Event>{};
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(events_json(found))) return kAnswerError;
  } else if (!found.empty() && !say_answer(table_of(found))) {
    return kAnswerError;
  }
  return found.empty() ? kAnswerNo : kAnswerYes;
}

}  // namespace cordon
