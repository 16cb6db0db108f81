// The loop: feature by feature, an agent works contained and a command decides whether it is done.
// The agent's word and its exit status decide nothing. The first doubt about containment ends the
// loop: nothing further is started, and there is no way to go on without.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/recorder.h"
#include "faces/loop/agent.h"
#include "faces/loop/events.h"
#include "faces/loop/plan_file.h"
#include "faces/loop/progress.h"
#include "policy/host_facts.h"
#include "run/line.h"
#include "run/staged_run.h"

namespace cordon::loop {

struct Budget {
  std::uint64_t attempts = 3;                 // of a feature that says nothing else
  std::uint64_t attempt_wall_ms = 1'800'000;  // likewise
  std::optional<std::uint64_t> wall_ms;       // of all agents together
  std::optional<std::uint64_t> tokens;        // as the agents tell them
  std::optional<std::uint64_t> micro_dollars;
};

struct LoopInput {
  Caller caller;  // its directory is the project
  Features features;
  AgentCommand agent;
  Policy policy;  // of the agent; the verify command gets it without network and credentials
  std::vector<std::string> ceiling_files;  // beside the standard ones; all read anew for every run
  std::vector<std::string> held_files;     // the plan and its prompts: read-only inside
  Budget budget;
  bool commit = false;                 // each accepted feature, inside the sandbox
  std::optional<BackendKind> backend;  // of every run; absent: as in choose.h
  // The line of RunInput::tell_choice, once, and again when it changes.
  std::function<void(const std::string& line)> tell_choice;
};

class Engine {
 public:
  Engine(LoopInput input, const ProgressFile& file, audit::Recorder& recorder, Display& display,
         Control& control);

  // Works through what is pending in `progress`.
  LoopEnded run(Progress progress);

 private:
  using Stop = std::optional<LoopEnded>;

  // One run, which a skip or a quit ends.
  // Ceilings, recorder and mechanisms of whatever runs.
  Result<void> bound(RunInput& input);
  Report contained(RunInput input);
  Stop probe();
  Stop work_on(std::size_t index);
  Stop attempt(std::size_t index, std::optional<VerifyEnded>& last);
  Stop run_agent(std::size_t index, const std::optional<VerifyEnded>& last);
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
  audit::Recorder& recorder_;
  Display& display_;
  Control& control_;
  std::string told_choice_;
  Progress progress_;
  // Of the attempt that is under way, if its runs are staged.
  struct AttemptStage {
    std::string run;       // the last one that left changes in it; empty: none did
    bool changed = false;  // by the agent
  };
  std::optional<AttemptStage> stage_;
};

// In a staged loop an attempt has a stage: the agent works in it, the verify command goes on in it
// and judges what it sees there, and only then the project gets what was accepted. An attempt that
// is not accepted, or is skipped, is discarded; one that was cut off waits in its stage for `cordon
// changes`, as every stage does.

// The runs of a loop: the agent, the command that decides, the probe before everything. Each is an
// ordinary contained run, and there is no other way to start anything here.

enum class Role { Probe, Agent, Verify, Commit };

// Who asks, as the audit log has it: "loop_agent" and so on, with the feature and the attempt.
RunInput run_input(const LoopInput& loop, Role role, std::vector<std::string> argv,
                   std::string call_id);
// The end of what a run wrote, both streams, for people and for the next prompt.
std::string last_output(const Outcome& outcome);

// What an agent is told about a feature.

// `last` is how the attempt before this one was judged.
std::string build_prompt(const Feature& feature, const std::optional<VerifyEnded>& last);

}  // namespace cordon::loop
