// Host rules: what one admits, beside what another does. Their text and its parser are public
// (cordon/policy.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cordon/policy.h"
#include "cordon/widening.h"
#include "policy/decide.h"

namespace cordon {

inline constexpr std::uint16_t kLowestPort = 1;
inline constexpr std::uint16_t kHighestPort = 65535;

// Of a URL the rule for its host, with the port of its scheme; nothing for any other text.
std::optional<std::string> rule_of_url(std::string_view text);
// True if every host and port of `inner` is one of `outer`. "localhost" covers the addresses of
// loopback.
bool covers(const HostRule& outer, const HostRule& inner);
// A rule for one address or a range of them, not for names.
bool is_address(const HostRule& rule);
// One address that a person wrote as such. Some addresses are admitted by nothing less.
bool names_one_address(const HostRule& rule);
bool has_one_port(const HostRule& rule);
// A name, or one address that is written as such.
bool names_its_host(const HostRule& rule);
// One address of loopback, or a range of nothing else.
bool lies_in_loopback(const HostRule& rule);
// Only such a rule gives anything of the host's loopback: it names it, with one port. A range that
// holds loopback gives nothing of it, so it is compared as any other range.
bool gives_loopback(const HostRule& rule);
// "localhost" and names below it.
bool is_loopback_name(std::string_view name);
// True if whatever `inner` admits, `outer` admits too. More than covers(): a range admits no
// address that has to be named, and the host's loopback is named with one port.
bool makes_needless(const HostRule& outer, const HostRule& inner);
// The rule that admits exactly what both admit; nothing if they share nothing. An address that one
// of them does not name is not named by the result.
std::optional<HostRule> intersect(const HostRule& a, const HostRule& b);
bool matches_name(const HostRule& rule, std::string_view name, std::uint16_t port);

// Publish rules: "8080", or "HOSTPORT:PORT" where the port inside is another. Pure.

Result<PublishRule> parse_publish_rule(std::string_view text);
std::string to_string(const PublishRule& rule);

// Whether a server inside is reachable at that port of the host's loopback.
Verdict decide_publish(const NetRules& net, const PublishRule& rule);

// The network mode that a document, an option or another tool's configuration spelled out, as the
// type that a policy takes.

constexpr NetAccess access_of(NetMode mode) {
  switch (mode) {
    case NetMode::None:
      return NetMode::None;
    case NetMode::Allow:
      return NetMode::Allow;
    case NetMode::Open:
      return share_the_hosts_network();
  }
  return NetMode::None;
}

}  // namespace cordon
