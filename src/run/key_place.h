// Where the credential of a known agent would be in a run for it, as things are now, and the one
// line that changes it: what `cordon setup` and `cordon doctor` say of each agent that they find.
// It is asked of the policy that such a run has, after the same clamp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cordon/policy.h"
#include "policy/agents.h"
#include "policy/host_facts.h"

namespace cordon {

struct KeyPlace {
  // Strictest first.
  enum class Where {
    Outside,  // added to its requests; inside is a placeholder
    None,     // it has none until it is logged in inside
    Inside,   // every command that the agent starts can read it
  };
  Where where = Where::None;
  std::string what;    // one clause
  std::string change;  // what to type or to write; empty: nothing is to be changed
};
std::string_view name_of(KeyPlace::Where where);

// In `cordon run --policy agent:NAME` and `cordon loop NAME`, whatever directory that is in.
Result<KeyPlace> key_place(const AgentNeeds& agent, std::span<const Ceiling> ceilings,
                           const Caller& caller);

// What is said of a login outside that is good for nothing in this run: one that cannot be added to
// requests, while the agent has no other credential and, in its private home, no login either.
// Empty: there is nothing to say.
std::string unused_login(const Effective& effective, const Caller& caller,
                         const std::string& private_home);

// A policy of the caller's that has the login of an agent copied inside.
struct LoginShared {
  std::string policy;  // its file
  std::string what;    // one clause
  std::string change;
};
// Of the directory `policies`. A file that is no policy is left out: who names it is told.
std::vector<LoginShared> shared_logins(const Caller& caller);

}  // namespace cordon
