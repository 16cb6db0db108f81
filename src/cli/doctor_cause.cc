// Which checks of `cordon doctor` fail for one and the same reason. A host that refuses user
// namespaces fails a dozen checks, and a person who reads twelve cures looks for twelve troubles.
#include <algorithm>
#include <array>

#include "cli/doctor_check.h"

namespace cordon {
namespace {

bool is_trouble(const Check& check) { return check.status != CheckStatus::Pass; }

// A check that is to be cured by itself: neither passed nor explained by another.
bool is_cause(const Check& check) { return is_trouble(check) && check.cause.empty(); }

// What stops every run, in the order in which a run meets it.
const Check* stops_every_run(const std::vector<Check>& checks) {
  constexpr std::array kOrder{CheckCategory::Config, CheckCategory::Security,
                              CheckCategory::System};
  for (const CheckCategory category : kOrder) {
    for (const Check& check : checks) {
      if (check.category != category || check.status != CheckStatus::Fail) continue;
      if (check.evidence == Evidence::Tried && check.cause.empty()) return &check;
    }
  }
  return nullptr;
}

// The first of those with this cure that are as bad as any of them.
const Check& first_with(const std::vector<Check>& checks, const Check& like) {
  const Check* first = &like;
  for (const Check& check : checks) {
    if (!is_trouble(check) || check.cure != like.cure) continue;
    const bool worse = check.status == CheckStatus::Fail && first->status == CheckStatus::Warn;
    const bool earlier = check.status == first->status && &check < first;
    if (worse || earlier) first = &check;
  }
  return *first;
}

}  // namespace

void find_causes(std::vector<Check>& checks) {
  const auto nested = std::ranges::find(checks, kNestedCheck, &Check::name);
  if (nested != checks.end()) {
    for (Check& check : checks) {
      if (is_trouble(check) && &check != &*nested) check.cause = nested->name;
    }
    return;
  }
  for (Check& check : checks) {
    if (!is_cause(check)) continue;
    const Check& first = first_with(checks, check);
    if (&first != &check) check.cause = first.name;
  }
  const Check* stopped_by = stops_every_run(checks);
  if (stopped_by == nullptr) return;
  for (Check& check : checks) {
    if (is_trouble(check) && check.evidence == Evidence::NotStarted) check.cause = stopped_by->name;
  }
}

std::string cure_of(const Error& error, std::string otherwise) {
  // Errors of a run send people here; in here they would send them round in a circle.
  const bool circle = error.hint.find("cordon doctor") != std::string::npos;
  return error.hint.empty() || circle ? std::move(otherwise) : error.hint;
}

}  // namespace cordon
