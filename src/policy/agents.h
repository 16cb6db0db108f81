// What each known coding agent needs beyond the preset `agent`, with the reason. A run for an agent
// may use one credential of that agent's own. A key in a variable is added to its requests outside
// wherever that can be done; what cannot be done so is the one exception to the rule that no
// credential goes inside.
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

// How a key is sent.
struct AgentKey {
  std::string_view variable;
  std::string_view header;  // that holds it alone; empty: it is a bearer token
};

// What of its login file is sent as a key is: a string that is good for requests as it stands, as
// long as it lasts. Whatever renews it is the agent outside.
struct LoginToken {
  std::string_view pointer;  // of that string in the file; empty: there is none
  AgentKey key;
  std::string_view moved_by;  // a variable by which the agent keeps its file elsewhere
  std::string_view renewal;   // what to do once the host refuses it, a clause
};

struct AgentNeeds {
  std::string_view name;  // "claude", as in the preset agent:claude
  std::span<const AgentHost> hosts;
  std::span<const std::string_view> credentials;  // variables; the first that is set is passed
  std::span<const std::string_view> settings;  // variables set to "1", so that it knows its place
  // The file with its login, below a home; empty: it keeps none that could be copied.
  std::string_view login;
  // The host of its model, to which a key of these is added outside; empty: none can be.
  std::string_view model;
  std::span<const AgentKey> keys;
  LoginToken kept;
};

std::span<const AgentNeeds> known_agents();
// Null if there is none by that name.
const AgentNeeds* find_agent(std::string_view name);
// Onto the preset `agent`.
void add_needs(const AgentNeeds& agent, Policy& policy);
// Takes the agent's credentials and settings out of a policy again: they are for the agent itself,
// and not for the command that verifies its work.
void remove_needs(const AgentNeeds& agent, Policy& policy);

// Takes its credentials out of a policy.
void withhold_credentials(const AgentNeeds& agent, Policy& policy);

// Whether the host's login file of the agent holds such a string.
enum class KeptLogin { None, Usable };

// The policy of a run whose agent has its key in a variable of the caller, or else in its login
// file: with a secret and a rule by which it is added to the requests to the model's host, so that
// inside there is a placeholder. Unchanged where that cannot be: in other network modes than allow,
// where the policy does not lead to that host or leads the agent to another one, with a shared
// login, and where a ceiling does not permit the variable.
Policy with_key_outside(Policy policy, std::span<const Ceiling> ceilings, const Caller& caller,
                        KeptLogin login);

// What a run for an agent is given of its credentials: the login if it is shared, else the first of
// its variables that has a value.
std::optional<Credential> credential_of(const Effective& effective, const Caller& caller);
// Whether `variable` is another credential of the agent than the one it is given.
bool is_withheld(std::string_view variable, const AgentRules& agent,
                 const std::optional<Credential>& given);
// "variable"
std::string_view name_of(Credential::Kind kind);
// Why an agent whose login is added outside does not get on: its host refused it. Nothing if it did
// not.
std::optional<std::string> rejected_login(const Credential& credential,
                                          std::span<const SentRequests> requests);
// For people; says who can read it, and what a copy of a login may lead to.
std::string describe(const Credential& credential);

}  // namespace cordon
