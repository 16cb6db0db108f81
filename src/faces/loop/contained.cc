#include "faces/loop/contained.h"

#include <utility>

#include "compat/backends.h"
#include "run/policy_source.h"

namespace cordon::loop {

bool tells_removal(const Quarantined& one) { return one.kind.starts_with("removed: "); }

ContainedRuns::ContainedRuns(const LoopInput& loop, audit::Recorder& recorder, Display& display,
                             Control& control)
    : loop_(loop), recorder_(recorder), display_(display), control_(control) {}

Result<void> ContainedRuns::bound(RunInput& input) {
  // An operator who narrows a ceiling while a loop works for hours means the next run.
  CORDON_TRY(bounds, load_ceilings(loop_.ceiling_files, loop_.caller));
  recorder_.choose(audit_choice(bounds));
  input.ceilings = std::move(bounds);
  input.recorder = &recorder_;
  input.backend = loop_.backend;
  input.backends = every_backend(loop_.caller);
  return {};
}

Report ContainedRuns::run(RunInput input) {
  if (auto bounded = bound(input); !bounded) {
    Report refused;
    refused.error = bounded.error();
    return refused;
  }
  input.tell_choice = [this](const std::string& line) {
    if (loop_.tell_choice && std::exchange(told_choice_, line) != line) loop_.tell_choice(line);
  };
  input.terminate = Cancel();
  control_.running(input.terminate);
  Report report = run_contained(input, loop_.caller);
  control_.running(std::nullopt);
  tell_upkeep(report);
  return report;
}

void ContainedRuns::tell_upkeep(const Report& report) {
  const auto* unkept = report.audit && report.audit->unkept ? &*report.audit->unkept : nullptr;
  const std::string text = unkept != nullptr ? message(*unkept) : std::string();
  // Said by every run until somebody has looked at it, and here once.
  if (std::exchange(told_unkept_, text) != text && unkept != nullptr) {
    display_.show(Warned{text, unkept->hint});
  }
  if (!report.outcome) return;
  for (const Quarantined& one : report.outcome->handoff) {
    if (tells_removal(one)) display_.show(Warned{one.path + ": " + one.kind, {}});
  }
}

}  // namespace cordon::loop
