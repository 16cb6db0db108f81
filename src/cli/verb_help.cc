#include "base/text.h"
#include "cli/completion.h"
#include "cli/help_text.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

Result<std::string> help_answer(const Arguments& arguments) {
  std::string name;
  for (const std::string_view word : arguments.operands) {
    if (!name.empty()) name.append(" ");
    name.append(word);
  }
  const Verb* verb = name.empty() ? &top_level() : find_verb(name);
  if (verb == nullptr) {
    return fail(usage_error("unknown verb " + quote(name), "cordon -h lists the verbs"));
  }
  const std::string_view format = arguments.value(FlagId::Format).value_or("text");
  if (format == "text") return long_help(*verb);
  if (format == "man") return manual_options(*verb);
  if (format == "bash") return bash_completion();
  if (format == "zsh") return zsh_completion();
  if (format == "fish") return fish_completion();
  return fail(usage_error("--format " + quote(format) + ": unknown form",
                          "write text, man, bash, zsh or fish"));
}

}  // namespace

int verb_help(const Arguments& arguments) {
  const auto answer = help_answer(arguments);
  if (!answer) {
    say_error(answer.error());
    return kAnswerError;
  }
  return say_answer(*answer) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
