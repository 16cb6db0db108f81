// Publish rules: "8080", or "HOSTPORT:PORT" where the port inside is another. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cordon/policy.h"
#include "policy/decide.h"

namespace cordon {

Result<PublishRule> parse_publish_rule(std::string_view text);
std::string to_string(const PublishRule& rule);

// Whether a server inside is reachable at that port of the host's loopback.
Verdict decide_publish(const NetRules& net, const PublishRule& rule);

}  // namespace cordon
