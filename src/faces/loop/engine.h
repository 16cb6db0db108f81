// The loop: feature by feature, an agent works contained and a command decides whether it is done.
// The agent's word and its exit status decide nothing. The first doubt about containment ends the
// loop: nothing further is started, and there is no way to go on without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/recorder.h"
#include "faces/loop/agent.h"
#include "faces/loop/contained.h"
#include "faces/loop/events.h"
#include "faces/loop/plan_file.h"
#include "faces/loop/progress.h"
#include "faces/loop/runs.h"
#include "policy/host_facts.h"
#include "run/line.h"
#include "run/staged_run.h"

namespace cordon::loop {

// In a staged loop an attempt has a stage: the agent works in it, the verify command goes on in it
// and judges what it sees there, and only then the project gets what was accepted. An attempt that
// is not accepted, or is skipped, is discarded; one that was cut off waits in its stage for `cordon
// changes`, as every stage does.
class Engine {
 public:
  Engine(LoopInput input, const ProgressFile& file, audit::Recorder& recorder, Display& display,
         Control& control);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Works through what is pending in `progress`.
  LoopEnded run(Progress progress);

 private:
  using Stop = std::optional<LoopEnded>;

  Stop probe();
  Stop work_on(std::size_t index);
  Stop baseline(const Feature& feature);
  // Notes what the project holds before a feature is worked on, for its commit.
  Stop note_tree();
  Stop attempt(std::size_t index, std::optional<VerifyEnded>& last);
  Stop run_agent(std::size_t index, const std::optional<VerifyEnded>& last);
  void tell_login(const Report& report);
  void tell_changes(std::vector<std::string> files);
  Stop verify(const Feature& feature, VerifyEnded& result);
  // Applies what an accepted attempt left in its stage, and drops that of any other. `lost` says
  // why an accepted one is not whole in the project.
  Stop end_stage(StageFate fate, std::string* lost);
  Stop commit(const Feature& feature);
  Stop save();
  [[nodiscard]] Stop over_budget() const;
  [[nodiscard]] Stop stopped() const;
  [[nodiscard]] LoopEnded end(LoopEnded::Why why, std::string reason,
                              std::optional<Error> error = {}) const;
  [[nodiscard]] LoopEnded uncontained(const Error& error) const;

  const LoopInput input_;
  const ProgressFile& file_;
  Display& display_;
  Control& control_;
  ContainedRuns runs_;
  std::string rejected_login_;  // by the service, in the last attempt, and what to do
  Progress progress_;
  // Of the attempt that is under way, if its runs are staged.
  struct AttemptStage {
    std::string run;       // the last one that left changes in it; empty: none did
    bool changed = false;  // by the agent
  };
  std::optional<AttemptStage> stage_;
  std::string surroundings_;    // what the agent is told about them
  bool passed_before_ = false;  // the verify command of the feature, without any attempt
  std::string tree_before_;     // of git; empty: there is none, and `no_tree_` says why
  std::string no_tree_;
  // Of the last attempt.
  bool changed_ = false;
  int agent_status_ = 0;
};

}  // namespace cordon::loop
