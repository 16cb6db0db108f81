// What each known coding agent needs beyond the preset `agent`, with the reason. The one exception
// to the rule that no credential goes inside: each names the one variable that holds its own.
#pragma once

#include <span>
#include <string_view>

#include "cordon/policy.h"

namespace cordon {

struct AgentHost {
  std::string_view rule;    // as in [net] allow
  std::string_view reason;  // why the agent needs it
};

struct AgentNeeds {
  std::string_view name;  // "claude", as in the preset agent:claude
  std::span<const AgentHost> hosts;
  std::span<const std::string_view> credentials;  // variables; whichever is set is passed
  std::span<const std::string_view> settings;  // variables set to "1", so that it knows its place
};

std::span<const AgentNeeds> known_agents();
// Null if there is none by that name.
const AgentNeeds* find_agent(std::string_view name);
// Onto the preset `agent`.
void add_needs(const AgentNeeds& agent, Policy& policy);

}  // namespace cordon
