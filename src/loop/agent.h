// Agents: how each one is started so that it works alone and writes a stream that can be read. The
// flags that switch off an agent's own questions stand here and nowhere else: contained_agent() is
// the only way to them, and what it makes is only ever run contained.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cordon/policy.h"
#include "loop/agent_stream.h"

namespace cordon::loop {

struct AgentCommand {
  std::string name;               // "claude", or the program of a command of one's own
  std::vector<std::string> argv;  // the prompt is not in it: it comes on standard input
  StreamForm form = StreamForm::Text;
  std::string preset;  // the policy it starts from
};

// A known agent by its name, or any command: then standard output is lines for people.
Result<AgentCommand> contained_agent(const std::vector<std::string>& words);

}  // namespace cordon::loop
