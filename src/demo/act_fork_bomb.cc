#include "demo/acts.h"
#include "demo/host_processes.h"

namespace cordon::demo {
namespace {

constexpr std::uint64_t kBombMs = 1500;

Scenario too_many(Stage& stage) {
  const Report few = stage.run({stage.own_attempt("fork", "8"), {}, {}, {}});
  return stage.play(
      "start 64 processes", {stage.own_attempt("fork", "64"), {}, {}, {}}, Expected::Blocked,
      [&](const Report& report) {
        const auto held = report.enforcement.limits.find("pids");
        const bool fine = few.outcome && exit_status(few.outcome->end) == 0;
        if (!fine) return Sight{false, "not even 8 processes could be started"};
        if (held == report.enforcement.limits.end()) {
          return Sight{false, "nothing holds the number of processes"};
        }
        return Sight{true, "8 could be started, 64 could not; held by " + held->second};
      });
}

Scenario bomb(Stage& stage) {
  const std::string marks = stage.home().at("Downloads/bomb");
  // Each generation leaves a mark and starts two more; the first waits to be stopped.
  const std::string script =
      R"(b() { echo >> "$1"; b "$1" | b "$1" & }; b "$1"; while :; do sleep 1; done)";
  return stage.play(
      "set off a fork bomb",
      {{"/bin/sh", "-c", script, stage.home().token(), marks}, {}, {"~/Downloads"}, kBombMs},
      Expected::Stopped, [&](const Report&) {
        const std::size_t started = content_of(marks).size();
        const auto left = processes_with(stage.home().token());
        if (started < 2) return Sight{false, "it did not go off: nothing was shown"};
        if (!left) return Sight{false, "the processes of the host cannot be listed"};
        return Sight{left->empty(), std::to_string(started) + " generations were born, " +
                                        std::to_string(left->size()) + " processes are left"};
      });
}

}  // namespace

Scenarios play_fork_bomb(Stage& stage) {
  Scenarios scenarios{too_many(stage)};
  if (scenarios.front().behaved()) {
    scenarios.push_back(bomb(stage));
  } else {
    // Where the limit does not hold, the host would not survive the proof.
    Scenario skipped;
    skipped.title = "set off a fork bomb";
    skipped.expected = Expected::Stopped;
    skipped.attempt.argv = {"/bin/sh"};
    skipped.sight = {false, "not started: the limit was not proven"};
    scenarios.push_back(std::move(skipped));
  }
  return scenarios;
}

}  // namespace cordon::demo
