// cordon setup: looks, asks, writes what is missing, and says what it did.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/host_setup.h"
#include "faces/cli/verbs.h"
#include "faces/setup/host_file.h"
#include "faces/setup/setup_view.h"
#include "host/resolve.h"

namespace cordon {
namespace {

using setup::Document;
using setup::HostFilePlan;
using setup::HostStanding;
using setup::Prospect;
using setup::Standing;
using Became = SetupStep::Became;

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
bool agreed(const SetupStep& step) {
  say("\n" + step.text + "\n");
  say(tinted(STDERR_FILENO, Tint::Good, "cordon:") + " write this to " + quote(step.path) +
      "? [y/N] ");
  const std::string answer = lower_case(read_line());
  return answer == "y" || answer == "yes";
}

Became left_by(Standing standing) {
  switch (standing) {
    case Standing::Missing:
      return Became::Written;
    case Standing::Current:
      return Became::Unchanged;
    case Standing::Edited:
      return Became::Left;
  }
  return Became::Left;
}

Became left_by(HostStanding standing) {
  switch (standing) {
    case HostStanding::Missing:
      return Became::Written;
    case HostStanding::Lacks:
      return Became::Added;
    case HostStanding::Current:
      return Became::Unchanged;
    case HostStanding::Edited:
      return Became::Left;
    case HostStanding::ByHand:
      return Became::ByHand;
  }
  return Became::Left;
}

std::string purpose(setup::Role role) {
  switch (role) {
    case setup::Role::Ceiling:
      return "the most any run may have";
    case setup::Role::Policy:
      return "what runs of this project ask for";
    case setup::Role::Variables:
      return "what selects this installation";
  }
  return {};
}

// A set-up that fails half way says what it has done.
Error with_account(Error error, const std::vector<SetupStep>& steps) {
  for (const SetupStep& step : steps) {
    if (step.result != Became::Written && step.result != Became::Added) continue;
    error.notes.push_back("written before that: " + quote(step.path));
  }
  return error;
}

// What the hosts that were named are to be told, and the files for it.
struct HostPart {
  std::vector<HostFilePlan> files;
  HostAdvice advice;
};

Result<HostPart> host_part(const Arguments& arguments, const Prospect& prospect) {
  HostPart part;
  if (!arguments.has(FlagId::HostName)) return part;
  ServerStart start;
  CORDON_TRY(program, main_program());
  start.executable = std::move(program);
  start.safe_directory = prospect.caller.config_directory;
  for (const Document& document : prospect.documents) {
    if (document.role == setup::Role::Variables) start.env_file = document.path();
  }
  const auto named = arguments.values(FlagId::HostName);
  for (const std::string_view host : std::set<std::string_view>(named.begin(), named.end())) {
    CORDON_TRY(told, checked_host_setup(host, start));
    told.further.insert(told.further.begin(), told.configuration);
    for (const HostFile& file : told.further) {
      part.files.push_back(setup::plan_host_file(file.path, file.content, prospect.caller));
    }
    const HostFilePlan& main = part.files[part.files.size() - told.further.size()];
    if (main.standing != HostStanding::Missing && main.before != main.text && host == "codex") {
      part.advice.notes.emplace_back(
          "Codex keeps tools of its own until the rest of what cordon mcp --print-config codex "
          "prints is in its configuration");
    }
    part.advice.next.push_back(shell_line(told.launch));
    part.advice.notes.insert(part.advice.notes.end(), told.notes.begin(), told.notes.end());
  }
  part.advice.notes.emplace_back("contained are these tools, not the host that calls them");
  return part;
}

SetupStep step_of(const Document& document) {
  return {document.path(),
          std::string(name_of(document.role)),
          purpose(document.role),
          document.text,
          "rm -- " + quote(document.path()),
          {},
          left_by(document.standing)};
}

SetupStep step_of(const HostFilePlan& plan) {
  const bool whole = plan.standing == HostStanding::Missing;
  return {plan.path,
          "host",
          whole ? "what an agent host is told" : "the server cordon",
          plan.addition,
          whole ? "rm -- " + quote(plan.path) : "remove the server cordon from " + quote(plan.path),
          plan.why,
          left_by(plan.standing)};
}

bool changes(const SetupStep& step) {
  return step.result == Became::Written || step.result == Became::Added;
}

// Carries out one step after another; `act` answers with what really became of it.
class Steps {
 public:
  explicit Steps(const Arguments& arguments)
      : dry_(arguments.has(FlagId::DryRun)), yes_(arguments.has(FlagId::Yes)) {}

  template <typename Act>
  Result<void> take(SetupStep step, Act act) {
    if (changes(step)) {
      if (dry_) {
        step.result = Became::Planned;
      } else if (!yes_ && !agreed(step)) {
        step.result = Became::Declined;
      } else {
        Result<Became> became = act();
        if (!became) return fail(with_account(std::move(became).error(), taken_));
        step.result = *became;
      }
    }
    taken_.push_back(std::move(step));
    return {};
  }
  [[nodiscard]] bool needs_somebody() const { return !dry_ && !yes_; }
  [[nodiscard]] std::vector<SetupStep> finish() && { return std::move(taken_); }

 private:
  const bool dry_;
  const bool yes_;
  std::vector<SetupStep> taken_;
};

Result<std::vector<SetupStep>> carry_out_plans(const Arguments& arguments, const Prospect& prospect,
                                               const std::vector<HostFilePlan>& files) {
  Steps steps(arguments);
  const auto waits = [](const auto& file) { return changes(step_of(file)); };
  const bool asks =
      std::ranges::any_of(prospect.documents, waits) || std::ranges::any_of(files, waits);
  if (asks && steps.needs_somebody() && !somebody_can_answer()) {
    return fail(usage_error("there is no terminal to ask at",
                            "cordon setup --dry-run shows what would be written, "
                            "cordon setup --yes writes it"));
  }
  for (const Document& document : prospect.documents) {
    CORDON_CHECK(steps.take(step_of(document), [&]() -> Result<Became> {
      return setup::write_document(document, prospect.caller).map([](Standing before) {
        return left_by(before);
      });
    }));
  }
  for (const HostFilePlan& file : files) {
    CORDON_CHECK(steps.take(step_of(file), [&]() -> Result<Became> {
      return setup::write_host_file(file, prospect.caller).map([&] {
        return left_by(file.standing);
      });
    }));
  }
  return std::move(steps).finish();
}

Result<setup::SetupRequest> setup_request(const Arguments& arguments) {
  if (arguments.value(FlagId::ProjectName) == "") {
    return fail(usage_error("--name is empty", "leave it out to take the directory's name"));
  }
  if (arguments.value(FlagId::EnvFile) == "") {
    return fail(usage_error("--env-file is empty", "name a file: --env-file ~/agents/test.env"));
  }
  return setup::SetupRequest{std::string(arguments.value(FlagId::ProjectName).value_or("")),
                             std::string(arguments.value(FlagId::EnvFile).value_or(""))};
}

Result<int> set_up(const Arguments& arguments) {
  CORDON_TRY(wish, setup_request(arguments));
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(prospect, setup::look_around(wish, caller));
  CORDON_TRY(hosts, host_part(arguments, prospect));
  hosts.advice.notes.insert(hosts.advice.notes.begin(), prospect.notes.begin(),
                            prospect.notes.end());
  CORDON_TRY(steps, carry_out_plans(arguments, prospect, hosts.files));
  const std::string answer = arguments.has(FlagId::Json)
                                 ? setup_json(prospect, steps, hosts.advice)
                                 : setup_text(prospect, steps, hosts.advice);
  if (!say_answer(answer)) return kAnswerError;
  const bool open = std::ranges::any_of(steps, [](const SetupStep& step) {
    return step.result == Became::Declined || step.result == Became::ByHand;
  });
  return open ? kAnswerNo : kAnswerYes;
}

}  // namespace

int verb_setup(const Arguments& arguments) {
  const auto status = set_up(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
