// The runs of a loop: the agent, the command that decides, the probe before everything. Each is an
// ordinary contained run, and there is no other way to start anything here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loop/engine.h"
#include "run/contained_run.h"

namespace cordon::loop {

enum class Role { Probe, Agent, Verify, Commit };

// Who asks, as the audit log has it: "loop_agent" and so on, with the feature and the attempt.
RunInput run_input(const LoopInput& loop, Role role, std::vector<std::string> argv,
                   std::string call_id);
// The end of what a run wrote, both streams, for people and for the next prompt.
std::string last_output(const Outcome& outcome);

}  // namespace cordon::loop
