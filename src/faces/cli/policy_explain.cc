#include "base/text.h"
#include "compat/backends.h"
#include "faces/cli/console.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/answers.h"

namespace cordon {
namespace {

Result<Explanation> asked_explanation(const Arguments& arguments) {
  // A request has two words.
  const bool request = !arguments.operands.empty() && arguments.operands[0] == "request";
  const std::size_t wanted = request ? 3 : 2;
  if (arguments.operands.size() > wanted) {
    const std::string_view first = arguments.operands[wanted];
    return fail(usage_error("unexpected operand " + quote(first), "ask of one thing at a time"));
  }
  if (arguments.operands.size() != wanted) {
    return fail(usage_error("name an access and what it is for",
                            "cordon policy explain read|write|exec PATH, connect "
                            "HOST:PORT|SOCKET, publish PORT or request METHOD URL"));
  }
  CORDON_TRY(access, parse_access(arguments.operands[0]));
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(backend, asked_backend(arguments));
  CORDON_TRY(asked, asked_policy(arguments, caller));
  RunInput input;
  input.argv = {"true"};
  input.policy = std::move(asked.policy);
  input.ceilings = std::move(asked.ceilings);
  input.backend = backend;
  input.backends = every_backend(caller, "/proc/self/exe");
  std::string target(arguments.operands[1]);
  if (request) target.append(" ").append(arguments.operands[2]);
  return explain_access(input, {access, std::move(target)}, caller);
}

}  // namespace

int verb_policy_explain(const Arguments& arguments) {
  const auto explained = asked_explanation(arguments);
  if (!explained) {
    say_error(explained.error());
    return kAnswerError;
  }
  const bool json = arguments.has(FlagId::Json);
  if (!say_answer(json ? explained->json : explained->text)) return kAnswerError;
  return explained->allowed ? kAnswerYes : kAnswerNo;
}

}  // namespace cordon
