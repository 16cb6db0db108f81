// The runs of a loop: the agent, the command that decides, the probe before everything, the commit.
// Each is an ordinary contained run, and there is no other way to start anything here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "faces/loop/agent.h"
#include "faces/loop/events.h"
#include "faces/loop/plan_file.h"
#include "policy/host_facts.h"
#include "run/line.h"

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
  bool why = false;                    // agents are watched for paths that are refused
  std::optional<BackendKind> backend;  // of every run; absent: as in choose.h
  // The line of RunInput::tell_choice, once, and again when it changes.
  std::function<void(const std::string& line)> tell_choice;
};

// Answer: a known agent is asked for its version and its login, in a project that it cannot write
// and without a network.
enum class Role { Probe, Answer, Agent, Verify, Commit };

// Who asks, as the audit log has it: "loop_agent" and so on, with the feature and the attempt.
RunInput run_input(const LoopInput& loop, Role role, std::vector<std::string> argv,
                   std::string call_id);
// The end of what a run wrote, both streams, for people and for the next prompt.
std::string last_output(const Outcome& outcome);
std::string last_line(std::string_view text);

// What an agent is told about a feature.

// `last` is how the attempt before this one was judged; `surroundings` says what the agent can
// reach.
std::string build_prompt(const Feature& feature, const std::optional<VerifyEnded>& last,
                         std::string_view surroundings);
// That it is contained, and that what it does not find may be there all the same. `probe` is a run
// under the policy of the agent.
std::string describe_surroundings(const Policy& policy, const Report& probe);

// A commit takes what a feature changed and nothing else that lies in the project: what the person
// was working on, staged or not, stays as it is. Everything that is there, ignored files excepted,
// is a tree of git before the feature (kNoteTree prints it) and after it (kCommit, with the first
// as its argument). What differs between these two, and from the last commit, is committed by an
// index of its own; the person's index follows for these paths alone.
extern const char* const kNoteTree;
extern const char* const kCommit;

}  // namespace cordon::loop
