// Host rules: exact name, "*.name" (sub-domains, not the apex), IPv4, bracketed IPv6, CIDR, each
// with an optional port or range ("name:443", "name:8000-8099"). Pure.
#pragma once

#include <string>
#include <string_view>

#include "cordon/policy.h"

namespace cordon {

// Refuses "*", "*.com"-like single-label wildcards, inner wildcards, odd IPv4 spellings (octal,
// hex, short forms), zone ids, non-ASCII names, control bytes, ports outside 1..65535.
Result<HostRule> parse_host_rule(std::string_view text);
std::string to_string(const HostRule& rule);

// True if everything `inner` admits is admitted by `outer`.
bool covers(const HostRule& outer, const HostRule& inner);
// The rule that admits exactly what both admit; nothing if they share nothing.
std::optional<HostRule> intersect(const HostRule& a, const HostRule& b);
bool matches_name(const HostRule& rule, std::string_view name, std::uint16_t port);

}  // namespace cordon
