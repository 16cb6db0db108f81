#include "cli/policy_options.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "host/resolve.h"
#include "run/answers.h"

namespace cordon {
namespace {

Result<ClampAnswer> asked_clamp(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(asked, asked_policy(arguments, caller));
  RunInput input;
  input.policy = std::move(asked.policy);
  input.ceilings = std::move(asked.ceilings);
  return clamp_answer(input, caller);
}

}  // namespace

int verb_policy_clamp(const Arguments& arguments) {
  const auto answer = asked_clamp(arguments);
  if (!answer) {
    say_error(answer.error());
    return kAnswerError;
  }
  return say_answer(arguments.has(FlagId::Json) ? answer->json : answer->text) ? kAnswerYes
                                                                               : kAnswerError;
}

}  // namespace cordon
