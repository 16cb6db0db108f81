#include "demo/scenario.h"

namespace cordon::demo {
namespace {

bool ended_as(const End& end, Expected expected) {
  const auto* exited = std::get_if<Exited>(&end);
  switch (expected) {
    case Expected::Allowed:
      return exited != nullptr && exited->code == 0;
    case Expected::Blocked:
      return exited != nullptr && exited->code != 0;
    case Expected::Stopped:
      return std::holds_alternative<TimedOut>(end);
  }
  return false;
}

}  // namespace

std::string_view name_of(Expected expected) {
  switch (expected) {
    case Expected::Allowed:
      return "allowed";
    case Expected::Blocked:
      return "blocked";
    case Expected::Stopped:
      return "stopped";
  }
  return "";
}

bool Scenario::behaved() const {
  if (!sight.as_designed) return false;
  if (attempt.argv.empty()) return true;
  return report && report->outcome && ended_as(report->outcome->end, expected);
}

std::string Scenario::verdict() const {
  if (attempt.argv.empty()) return sight.as_designed ? "as designed" : "not as designed";
  if (!report) return "not run";
  if (report->error) return "refused to start: " + message(*report->error);
  for (const Expected candidate : {Expected::Allowed, Expected::Blocked, Expected::Stopped}) {
    if (!ended_as(report->outcome->end, candidate)) continue;
    return std::string(name_of(candidate)) + ", exit status " +
           std::to_string(exit_status(report->outcome->end));
  }
  return "ended with status " + std::to_string(exit_status(report->outcome->end));
}

}  // namespace cordon::demo
