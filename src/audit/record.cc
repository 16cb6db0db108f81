#include "audit/record.h"

#include <array>

namespace cordon::audit {
namespace {

constexpr std::array kEndings{Ending::Exit,      Ending::Signal, Ending::Limit,   Ending::Timeout,
                              Ending::Cancelled, Ending::Denied, Ending::Refused, Ending::Crash};

std::string subject(const Pending& pending) {
  return "audit: " + pending.action.text() + " " +
         (pending.resource.empty() ? "-" : pending.resource.text()) + " → ";
}

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::Pending:
      return "pending";
    case Phase::Closing:
      return "closing";
    case Phase::Note:
      return "note";
  }
  return "";
}

std::optional<Phase> phase_named(std::string_view name) {
  for (const Phase phase : {Phase::Pending, Phase::Closing, Phase::Note}) {
    if (name == name_of(phase)) return phase;
  }
  return std::nullopt;
}

std::string_view outcome_of(Ending ending) {
  return ending == Ending::Success ? "success" : "failure";
}

std::optional<std::string_view> reason_of(Ending ending) {
  switch (ending) {
    case Ending::Success:
      return std::nullopt;
    case Ending::Exit:
      return "exit";
    case Ending::Signal:
      return "signal";
    case Ending::Limit:
      return "limit";
    case Ending::Timeout:
      return "timeout";
    case Ending::Cancelled:
      return "cancelled";
    case Ending::Denied:
      return "denied";
    case Ending::Refused:
      return "refused";
    case Ending::Crash:
      return "crash";
  }
  return std::nullopt;
}

std::optional<Ending> ending_with_reason(std::string_view reason) {
  for (const Ending ending : kEndings) {
    if (reason == reason_of(ending)) return ending;
  }
  return std::nullopt;
}

std::string line_for_people(const Pending& pending) { return subject(pending) + "pending"; }

std::string line_for_people(const Pending& pending, const Closing& closing) {
  std::string line = subject(pending).append(outcome_of(closing.ending));
  if (const auto reason = reason_of(closing.ending)) {
    line.append(" (").append(*reason).append(")");
  }
  return line;
}

Error audit_error(std::string what, int error_number, std::string hint) {
  Error error;
  error.kind = ErrorKind::Audit;
  error.what = std::move(what);
  error.hint = std::move(hint);
  error.error_number = error_number;
  return error;
}

}  // namespace cordon::audit
