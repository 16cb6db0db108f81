#include "base/text.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "config/policy_document.h"

namespace cordon {

int verb_policy_schema(const Arguments& arguments) {
  const std::string_view which =
      arguments.operands.empty() ? std::string_view("policy") : arguments.operands.front();
  const bool known = which == "policy" || which == "report";
  if (!known || arguments.operands.size() > 1) {
    say_error(usage_error("no schema is called " + quote(which), "write policy or report"));
    return kAnswerError;
  }
  return say_answer(which == "policy" ? policy_schema() : report_schema()) ? kAnswerYes
                                                                           : kAnswerError;
}

}  // namespace cordon
