// What each known coding agent needs beyond the preset `agent`, with the reason. The one exception
// to the rule that no credential goes inside: a run for an agent gets one of that agent's own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

struct AgentHost {
  std::string_view rule;    // as in [net] allow
  std::string_view reason;  // why the agent needs it
};

struct AgentNeeds {
  std::string_view name;  // "claude", as in the preset agent:claude
  std::span<const AgentHost> hosts;
  std::span<const std::string_view> credentials;  // variables; the first that is set is passed
  std::span<const std::string_view> settings;  // variables set to "1", so that it knows its place
  // The file with its login, below a home; empty: it keeps none that could be copied.
  std::string_view login;
};

std::span<const AgentNeeds> known_agents();
// Null if there is none by that name.
const AgentNeeds* find_agent(std::string_view name);
// Onto the preset `agent`.
void add_needs(const AgentNeeds& agent, Policy& policy);
// Takes the agent's credentials and settings out of a policy again: they are for the agent itself,
// and not for the command that verifies its work.
void remove_needs(const AgentNeeds& agent, Policy& policy);

// What a run for an agent is given of its credentials: the login if it is shared, else the first of
// its variables that has a value.
std::optional<Credential> credential_of(const Effective& effective, const Caller& caller);
// Whether `variable` is another credential of the agent than the one it is given.
bool is_withheld(std::string_view variable, const AgentRules& agent,
                 const std::optional<Credential>& given);
// For people; says what a copy of a login may lead to.
std::string describe(const Credential& credential);

}  // namespace cordon
