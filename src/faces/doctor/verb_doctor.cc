// cordon doctor: renders the checks; the exit status is 1 exactly if one of them fails.
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cordon/probe.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "faces/doctor/doctor_check.h"
#include "faces/doctor/doctor_view.h"
#include "host/resolve.h"

namespace cordon {
namespace {

// Live checks belong to the security category and are shown at its end.
std::vector<Check> in_order(std::vector<Check> checks, const std::vector<Check>& live) {
  const auto config = std::ranges::find(checks, CheckCategory::Config, &Check::category);
  checks.insert(config, live.begin(), live.end());
  return checks;
}

}  // namespace

int verb_doctor(const Arguments& arguments) {
  if (arguments.has(FlagId::HostName)) return doctor_host(arguments);
  if (arguments.has(FlagId::KubeNode)) return doctor_kube(arguments);
  const auto caller = identify_caller();
  if (!caller) {
    say_error(caller.error());
    return kAnswerError;
  }
  const HostAccount account = collect_account(*caller);
  std::vector<Check> checks = in_order(judge_account(account), live_checks(*caller));
  find_causes(checks);
  bool told = false;
  if (arguments.has(FlagId::Json)) {
    told = say_answer(doctor_json(account, checks, probe(BackendKind::Native)));
  } else if (arguments.has(FlagId::FixHints)) {
    told = say_answer(doctor_hints(checks));
  } else {
    // Below the words behind a mark.
    constexpr std::size_t kHanging = 9;
    const std::string text = doctor_text(checks);
    const auto columns = columns_of(STDOUT_FILENO);
    told = say_answer(columns ? wrapped(text, *columns, kHanging) : text);
  }
  if (!told) return kAnswerError;
  const bool failed = std::ranges::any_of(
      checks, [](const Check& check) { return check.status == CheckStatus::Fail; });
  return failed ? kAnswerNo : kAnswerYes;
}

}  // namespace cordon
