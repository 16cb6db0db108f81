#include "base/text.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "config/changes_schema.h"
#include "config/policy_document.h"

namespace cordon {

int verb_policy_schema(const Arguments& arguments) {
  const std::string_view which =
      arguments.operands.empty() ? std::string_view("policy") : arguments.operands.front();
  const auto answer = [&]() -> std::optional<std::string_view> {
    if (which == "policy") return policy_schema();
    if (which == "report") return report_schema();
    if (which == "audit") return audit_schema();
    if (which == "changes") return changes_schema();
    return std::nullopt;
  }();
  if (!answer || arguments.operands.size() > 1) {
    say_error(usage_error("no schema is called " + quote(which),
                          "write policy, report, audit or changes"));
    return kAnswerError;
  }
  return say_answer(*answer) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
