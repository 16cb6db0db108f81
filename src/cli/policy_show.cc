#include "base/text.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "config/policy_document.h"
#include "host/resolve.h"
#include "run/policy_source.h"
#include "run/run_note.h"

namespace cordon {
namespace {

Result<std::string> shown_policy(const Arguments& arguments) {
  if (arguments.operands.size() > 1) {
    return fail(usage_error("more than one policy was given",
                            "options stand before operands: cordon policy show [--json] POLICY"));
  }
  CORDON_TRY(caller, identify_caller());
  say_handoffs(recover_runs(caller));
  const std::string word(arguments.operands.empty() ? "workspace" : arguments.operands.front());
  CORDON_TRY(source, load_policy(word, caller));
  if (arguments.has(FlagId::Json)) {
    return write_json(encode_policy(source.policy), JsonStyle::Pretty) + "\n";
  }
  return write_toml(source.policy);
}

}  // namespace

int verb_policy_show(const Arguments& arguments) {
  const auto text = shown_policy(arguments);
  if (!text) {
    say_error(text.error());
    return kAnswerError;
  }
  return say_answer(*text) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
