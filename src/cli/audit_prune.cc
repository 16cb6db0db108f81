#include "audit/prune.h"

#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

Result<audit::Pruned> pruned(const Arguments& arguments) {
  const auto text = arguments.value(FlagId::KeepDays);
  const auto days = text ? parse_number(*text) : std::nullopt;
  if (!days || *days == 0) {
    return fail(
        usage_error("--keep-days wants a number above zero", "cordon audit prune --keep-days 90"));
  }
  CORDON_TRY(where, audit_place());
  CORDON_TRY(found, audit::verify(where.place, audit_progress("verifying")));
  return audit::prune(where.place, found, *days);
}

}  // namespace

int verb_audit_prune(const Arguments& arguments) {
  const auto done = pruned(arguments);
  if (!done) return audit_failure_status(done.error());
  std::string answer;
  if (arguments.has(FlagId::Json)) {
    NodeList days;
    for (const std::string& day : done->days) days.emplace_back(day);
    Node node;
    node.set("days", Node(std::move(days)))
        .set("records", Node(done->records))
        .set("last_seq", Node(done->last.seq));
    answer = write_json(node, JsonStyle::Pretty) + "\n";
  } else {
    for (const std::string& day : done->days) answer += "removed " + day + "\n";
  }
  if (!say_answer(answer)) return kAnswerError;
  return done->days.empty() ? kAnswerNo : kAnswerYes;
}

}  // namespace cordon
