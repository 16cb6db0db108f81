#include "base/path.h"
#include "base/text.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "cordon/policy.h"
#include "run/json_parts.h"

namespace cordon {
namespace {

Result<std::string> checked_file(const Arguments& arguments) {
  if (arguments.operands.size() != 1) {
    return fail(usage_error("one file is to be named", "cordon policy check [--json] FILE"));
  }
  const std::string file(arguments.operands.front());
  const std::string_view name = basename(file);
  if (name == "ceiling.toml" || name == "ceiling.json") {
    CORDON_TRY(ceiling, Ceiling::from_file(file));
    say_dangers(ceiling.policy.net.sockets);
    return std::string("ceiling");
  }
  CORDON_TRY(policy, Policy::from_file(file));
  say_dangers(policy.net.sockets);
  return std::string("policy");
}

std::string check_json(const Result<std::string>& checked) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.check/1");
  node.set("valid", checked.has_value());
  node.set("role", checked ? Node(*checked) : Node());
  Node place;
  if (!checked && checked.error().place) {
    place = Node(NodeMap{});
    place.set("file", checked.error().place->file);
    place.set("line", std::uint64_t{checked.error().place->line});
    place.set("column", std::uint64_t{checked.error().place->column});
  }
  node.set("place", std::move(place));
  node.set("error", checked ? Node() : error_object(checked.error()));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

int verb_policy_check(const Arguments& arguments) {
  const auto checked = checked_file(arguments);
  if (!checked) say_error(checked.error());
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(check_json(checked))) return kAnswerError;
  } else if (checked) {
    const std::string file = sanitize(arguments.operands.front());
    if (!say_answer(file + ": a valid " + *checked + "\n")) return kAnswerError;
  }
  return checked ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
