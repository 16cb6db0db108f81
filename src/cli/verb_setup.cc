// cordon setup: looks, asks, writes what is missing, and says what it did.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cli/setup_view.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "host/resolve.h"

namespace cordon {
namespace {

using setup::Document;
using setup::Prospect;
using setup::Standing;

bool somebody_can_answer() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

// One line, a byte at a time: what is typed ahead belongs to the next question or to the shell.
std::string read_line() {
  std::string line;
  char c = 0;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || c == '\n') return line;
    line += c;
  }
}

// Only a plain yes is one.
bool agreed(const Document& document) {
  say("\n" + document.text + "\n");
  say(tinted(STDERR_FILENO, Tint::Good, "cordon:") + " write this to " + quote(document.path()) +
      "? [y/N] ");
  const std::string answer = lower_case(read_line());
  return answer == "y" || answer == "yes";
}

SetupStep::Became left_by(Standing standing) {
  switch (standing) {
    case Standing::Missing:
      return SetupStep::Became::Written;
    case Standing::Current:
      return SetupStep::Became::Unchanged;
    case Standing::Edited:
      return SetupStep::Became::Left;
  }
  return SetupStep::Became::Left;
}

// A set-up that fails half way says what it has done.
Error with_account(Error error, const std::vector<SetupStep>& steps) {
  for (const SetupStep& step : steps) {
    if (step.result != SetupStep::Became::Written) continue;
    error.notes.push_back("written before that: " + quote(step.document->path()));
  }
  return error;
}

Result<std::vector<SetupStep>> carry_out(const Arguments& arguments, const Prospect& prospect) {
  const bool missing = std::ranges::find(prospect.documents, Standing::Missing,
                                         &Document::standing) != prospect.documents.end();
  const bool dry = arguments.has(FlagId::DryRun);
  const bool yes = arguments.has(FlagId::Yes);
  if (missing && !dry && !yes && !somebody_can_answer()) {
    return fail(usage_error("there is no terminal to ask at",
                            "cordon setup --dry-run shows what would be written, "
                            "cordon setup --yes writes it"));
  }
  std::vector<SetupStep> steps;
  for (const Document& document : prospect.documents) {
    SetupStep step{&document, left_by(document.standing)};
    if (document.standing == Standing::Missing) {
      if (dry) {
        step.result = SetupStep::Became::Planned;
      } else if (!yes && !agreed(document)) {
        step.result = SetupStep::Became::Declined;
      } else {
        auto before = setup::write_document(document, prospect.caller);
        if (!before) return fail(with_account(std::move(before).error(), steps));
        step.result = left_by(*before);
      }
    }
    steps.push_back(step);
  }
  return steps;
}

Result<setup::Wish> wish_of(const Arguments& arguments) {
  for (const FlagId id : {FlagId::ProjectName, FlagId::EnvFile}) {
    if (arguments.value(id) == "") return fail(usage_error("an option has an empty value"));
  }
  return setup::Wish{std::string(arguments.value(FlagId::ProjectName).value_or("")),
                     std::string(arguments.value(FlagId::EnvFile).value_or(""))};
}

Result<int> set_up(const Arguments& arguments) {
  CORDON_TRY(wish, wish_of(arguments));
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(prospect, setup::look_around(wish, caller));
  CORDON_TRY(steps, carry_out(arguments, prospect));
  const std::string answer =
      arguments.has(FlagId::Json) ? setup_json(prospect, steps) : setup_text(prospect, steps);
  if (!say_answer(answer)) return kAnswerError;
  const bool declined = std::ranges::any_of(
      steps, [](const SetupStep& step) { return step.result == SetupStep::Became::Declined; });
  return declined ? kAnswerNo : kAnswerYes;
}

}  // namespace

int verb_setup(const Arguments& arguments) {
  const auto status = set_up(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
