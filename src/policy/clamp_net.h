// The network part of the clamp by itself, for a run that goes on while ceilings change. Pure.
#pragma once

#include <span>

#include "cordon/policy.h"

namespace cordon {

// What the rules and every ceiling allow: never wider than either.
NetRules narrow_net(const NetRules& rules, std::span<const Ceiling> ceilings);

// Whether a ceiling lets all of a rule be reached, its denies apart.
bool permits_host(const Ceiling& ceiling, const HostRule& host);
// Whether the port of ssh can be reached at a host that is named.
bool reaches_ssh(const NetRules& net);
// Whether it lets all requests of that kind be sent.
bool permits_request(const Ceiling& ceiling, const HostRule& endpoint,
                     const RequestPattern& pattern);
bool permits_port(const Ceiling& ceiling, const PublishRule& rule);

}  // namespace cordon
