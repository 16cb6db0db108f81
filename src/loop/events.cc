#include "loop/events.h"

namespace cordon::loop {

std::string_view name_of(LoopEnded::Why why) {
  switch (why) {
    case LoopEnded::Why::Complete:
      return "complete";
    case LoopEnded::Why::Incomplete:
      return "incomplete";
    case LoopEnded::Why::Stopped:
      return "stopped";
    case LoopEnded::Why::Uncontained:
      return "uncontained";
    case LoopEnded::Why::Failed:
      return "failed";
  }
  return "failed";
}

int exit_status(const LoopEnded& end) {
  constexpr int kIncomplete = 1;
  constexpr int kStopped = 130;
  constexpr int kUncontained = 125;
  switch (end.why) {
    case LoopEnded::Why::Complete:
      return 0;
    case LoopEnded::Why::Incomplete:
      return kIncomplete;
    case LoopEnded::Why::Stopped:
      return kStopped;
    case LoopEnded::Why::Uncontained:
      return kUncontained;
    case LoopEnded::Why::Failed:
      return end.error ? end.error->exit_status : kUncontained;
  }
  return kUncontained;
}

}  // namespace cordon::loop
