// The part of a known_hosts that concerns the hosts a run may reach. The rest would tell the
// command where else the person logs in.
#pragma once

#include <string>
#include <string_view>

#include "cordon/policy.h"
#include "policy/host_facts.h"

namespace cordon {

// Of each line for an allowed host: its name, kind of key and key. Hashed names are found for rules
// that name one host.
std::string known_hosts_of(std::string_view text, const NetRules& net);

// Of the person's own file and of the system's.
std::string known_hosts_for(const Caller& caller, const NetRules& net);

}  // namespace cordon
