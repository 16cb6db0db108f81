#include "loop/contained.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/agents.h"

namespace cordon::loop {
namespace {

constexpr std::uint64_t kProbeMs = 5'000;
constexpr std::size_t kShownOutput = 4096;

std::string tool_of(Role role) {
  switch (role) {
    case Role::Probe:
      return "loop_probe";
    case Role::Agent:
      return "loop_agent";
    case Role::Verify:
      return "loop_verify";
    case Role::Commit:
      return "loop_commit";
  }
  return "loop";
}

// Only the agent speaks to its model and holds the key for that. What it left in its home is no
// part of the project that anybody looks at: a program there, or a start-up file of an interpreter,
// must not decide whether its work is done.
void without_agent_needs(const AgentCommand& agent, Policy& policy) {
  policy.net = {};
  policy.fs.home = std::min(policy.fs.home, HomeMode::Private);
  // The policy may be for another agent than the program is called.
  for (const std::string& name : {agent.name, std::exchange(policy.agent, {}).name}) {
    if (const AgentNeeds* needs = find_agent(name)) remove_needs(*needs, policy);
  }
}

}  // namespace

RunInput run_input(const LoopInput& loop, Role role, std::vector<std::string> argv,
                   std::string call_id) {
  RunInput input;
  input.argv = std::move(argv);
  input.policy = loop.policy;
  input.describe_policy = false;
  input.asker = {tool_of(role), std::move(call_id), {}};
  for (const std::string& file : loop.held_files) input.policy.fs.read.push_back({file, {}});
  std::optional<std::uint64_t>& wall = input.policy.limits.wall_ms;
  if (role == Role::Probe) wall = std::min(kProbeMs, wall.value_or(kProbeMs));
  if (role == Role::Verify || role == Role::Commit) {
    without_agent_needs(loop.agent, input.policy);
    wall = std::min(loop.budget.attempt_wall_ms, wall.value_or(loop.budget.attempt_wall_ms));
  }
  return input;
}

std::string last_output(const Outcome& outcome) {
  std::string text;
  for (const auto* stream : {&outcome.out, &outcome.err}) {
    if (*stream) text.append((*stream)->text());
  }
  if (text.size() > kShownOutput) text.erase(0, text.size() - kShownOutput);
  return to_utf8(text);
}

}  // namespace cordon::loop
