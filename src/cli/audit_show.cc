#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

struct Found {
  audit::Event event;
  audit::Lines lines;
};

Result<std::optional<Found>> find_event(const Arguments& arguments) {
  if (arguments.operands.size() != 1 || arguments.operands.front().empty()) {
    return fail(
        usage_error("one ID is wanted", "cordon audit show ID; cordon audit list has them"));
  }
  const std::string id(arguments.operands.front());
  CORDON_TRY(where, audit_place());
  CORDON_TRY(index, audit::Index::open(where.place, audit_progress("indexing")));
  CORDON_TRY(events, index.find(id));
  if (events.empty()) return std::optional<Found>();
  if (events.size() > 1) {
    return fail(usage_error(quote(id) + " begins more than one event id", "write more of it"));
  }
  CORDON_TRY(lines, index.lines(events.front()));
  return std::optional<Found>(Found{events.front(), std::move(lines)});
}

Node node_of(const std::string& line) {
  if (line.empty()) return {};
  auto node = read_json(line, "audit");
  return node ? std::move(*node) : Node();
}

// "key  value" lines; tables within tables are indented.
void describe_node(const Node& node, std::size_t depth, std::string& out) {
  const NodeMap* map = node.map();
  if (map == nullptr) return;
  for (const auto& [key, value] : *map) {
    const bool nothing = std::holds_alternative<std::nullptr_t>(value.value) ||
                         (value.list() != nullptr && value.list()->empty());
    if (nothing) continue;
    out.append(2 * depth, ' ').append(sanitize(key));
    if (value.map() != nullptr) {
      out.append("\n");
      describe_node(value, depth + 1, out);
      continue;
    }
    out.append(key.size() < 18 ? 18 - key.size() : 1, ' ');
    const std::string* text = value.text();
    out.append(sanitize(text != nullptr ? *text : write_json(value, JsonStyle::Compact)));
    out.append("\n");
  }
}

std::string found_text(const Found& found) {
  const audit::Event& event = found.event;
  std::string out = sanitize(what_text(event) + " " + event.resource + ": " + outcome_text(event));
  out.append("\n");
  for (const std::string* line : {&found.lines.pending, &found.lines.closing}) {
    if (line->empty()) continue;
    out.append("\n");
    describe_node(node_of(*line), 0, out);
  }
  return out;
}

std::string found_json(const Found& found) {
  Node node = event_node(found.event);
  node.set("pending", node_of(found.lines.pending));
  node.set("closing", node_of(found.lines.closing));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

int verb_audit_show(const Arguments& arguments) {
  const auto found = find_event(arguments);
  if (!found) return audit_failure_status(found.error());
  if (!*found) {
    say("cordon: no action is called " + quote(arguments.operands.front()) + "\n");
    return kAnswerNo;
  }
  const std::string answer =
      arguments.has(FlagId::Json) ? found_json(**found) : found_text(**found);
  return say_answer(answer) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
