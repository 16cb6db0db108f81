// cordon why: what was denied in a run that is over, by what, and what to change.
#include "base/text.h"
#include "changes/manifest.h"
#include "faces/cli/console.h"
#include "faces/cli/explained.h"
#include "faces/cli/report_page.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/account.h"

namespace cordon {
namespace {

std::string explanation(const Node& report, const std::vector<ExplainedLine>& lines) {
  const std::string ended = ended_words(report);
  std::string text =
      "run " + word_in(report, "run_id") + (ended.empty() ? "" : ", " + ended) + "\n";
  for (const ExplainedLine& line : lines) {
    text += sanitize(line.what) + "\n";
    if (!line.cure.empty()) text += "    " + sanitize(line.cure) + "\n";
  }
  if (lines.empty()) {
    text +=
        "nothing was denied that left a trace. A file that the policy hides looks absent to a\n"
        "command: run it with --why, or ask of one path with cordon policy explain read PATH\n";
  }
  return text;
}

// What `cordon changes` did with them since. The report has a path as it was seen from where the
// run was started: relative, it is the nearest of those that end so.
StateNow states_now(const Manifest& manifest) {
  return [&manifest](const std::string& path) {
    const ChangeRecord* found = nullptr;
    for (const ChangeRecord& record : manifest.records) {
      const bool same = record.path == path || record.path.ends_with("/" + path);
      if (same && (found == nullptr || record.path.size() < found->path.size())) found = &record;
    }
    return found == nullptr ? std::nullopt : std::optional(found->state);
  };
}

Result<int> why(const Arguments& arguments) {
  if (arguments.operands.size() > 1) {
    return fail(usage_error("unexpected operand " + quote(arguments.operands[1]),
                            "name one run: cordon why RUN"));
  }
  const std::string run(arguments.operands.empty() ? "last" : arguments.operands.front());
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(account, read_account(caller.state_directory, run));
  if (!account) {
    say(run == "last" ? "cordon: nothing has been run yet\n"
                      : "cordon: there is no account of run " + quote(run) +
                            "; the newest hundred with something to tell are kept. cordon why "
                            "last is the newest run; reports have the id of theirs as run_id\n");
    return kAnswerNo;
  }
  if (!account->report) {
    say("cordon: nothing was denied in run " + account->run_id + ", and it succeeded\n");
    return kAnswerNo;
  }
  const Node& report = *account->report;
  if (arguments.has(FlagId::Json)) {
    return say_answer(write_json(report, JsonStyle::Compact) + "\n") ? kAnswerYes : kAnswerError;
  }
  if (arguments.has(FlagId::Html)) {
    return say_answer(report_page(report, {})) ? kAnswerYes : kAnswerError;
  }
  CORDON_TRY(manifest, read_manifest(handoff_directory(caller.state_directory), account->run_id));
  const std::vector<ExplainedLine> lines =
      explain_report(report, manifest ? states_now(*manifest) : StateNow());
  const int status = lines.empty() ? kAnswerNo : kAnswerYes;
  return say_answer(explanation(report, lines)) ? status : kAnswerError;
}

}  // namespace

int verb_why(const Arguments& arguments) {
  const auto status = why(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
