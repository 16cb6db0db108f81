#include "policy/decide_net.h"

#include <algorithm>

#include "base/text.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using Kind = HostRule::Kind;

// Rules for IPv4 are written as such, so a mapped address is compared as what it is.
Address comparable(const Address& address) {
  return is_mapped(address) ? innermost(address) : address;
}

const HostRule* denying(const NetRules& net, const Address& address, std::uint16_t port) {
  for (const Address& form : {comparable(address), innermost(address)}) {
    const HostRule target = exactly(form, port);
    const auto found =
        std::ranges::find_if(net.deny, [&](const HostRule& rule) { return covers(rule, target); });
    if (found != net.deny.end()) return &*found;
  }
  return nullptr;
}

const HostRule* admitting(const NetRules& net, const Address& address, std::uint16_t port,
                          bool exact) {
  const HostRule target = exactly(address, port);
  const auto found = std::ranges::find_if(net.allow, [&](const HostRule& rule) {
    return is_address(rule) && covers(rule, target) && (!exact || names_one_address(rule));
  });
  return found == net.allow.end() ? nullptr : &*found;
}

Verdict denied(const HostRule& rule) {
  return {false, "net.deny \"" + to_string(rule) + "\"", "a deny wins over every allow",
          "remove the deny where it was written"};
}

Verdict admitted(const HostRule& rule) {
  return {true, "net.allow \"" + to_string(rule) + "\"", "the rule covers host and port", {}};
}

Verdict nothing_admits(const Address& address, std::uint16_t port, std::string reason) {
  return {false, "net.mode = \"allow\"", std::move(reason),
          "--allow " + to_string(exactly(comparable(address), port))};
}

std::string kind_reason(AddressKind kind, bool own) {
  if (own) return "an address of this host needs a rule for exactly that address";
  std::string reason = "a ";
  return reason.append(name_of(kind)).append(" address needs a rule for exactly that address");
}

}  // namespace

const HostRule* reaches_host_loopback(const NetRules& net, const Address& address,
                                      std::uint16_t port) {
  if (net.mode != NetMode::Allow || kind_of(address) != AddressKind::Loopback) return nullptr;
  if (denying(net, address, port) != nullptr) return nullptr;
  const HostRule target = exactly(comparable(address), port);
  const auto names_it = [&](const HostRule& rule) {
    if (rule.first_port != port || rule.last_port != port) return false;
    if (rule.kind == Kind::Name) return is_loopback_name(rule.name);
    return names_one_address(rule) && covers(rule, target);
  };
  const auto found = std::ranges::find_if(net.allow, names_it);
  return found == net.allow.end() ? nullptr : &*found;
}

Verdict decide_literal(const NetRules& net, const Address& address, std::uint16_t port,
                       std::span<const Address> own) {
  if (const HostRule* rule = denying(net, address, port)) return denied(*rule);
  const AddressKind kind = kind_of(address);
  if (kind == AddressKind::Loopback || kind == AddressKind::Unspecified) {
    if (const HostRule* rule = reaches_host_loopback(net, address, port)) return admitted(*rule);
    return nothing_admits(
        address, port,
        "loopback inside is the sandbox's own; the host's needs a rule with exactly this port");
  }
  const Address inner = innermost(address);
  const Address outer = comparable(address);
  const bool is_own = std::ranges::find(own, inner) != own.end();
  const bool exact = is_own || (kind != AddressKind::Public && kind != AddressKind::Private);
  const HostRule* rule = admitting(net, outer, port, exact && outer == inner);
  if (rule == nullptr) {
    const bool covered = exact && admitting(net, outer, port, false) != nullptr;
    return nothing_admits(
        address, port,
        covered ? kind_reason(kind, is_own)
                : "no rule allows this address; a rule for a name admits the name, not its "
                  "addresses");
  }
  // A tunnel into a place that is not public needs a rule for that place as well.
  const bool tunnels = outer != inner && (exact || kind == AddressKind::Private);
  if (tunnels && admitting(net, inner, port, exact) == nullptr) {
    return nothing_admits(inner, port, kind_reason(kind, is_own));
  }
  return admitted(*rule);
}

Verdict decide_resolved(const NetRules& net, const Verdict& by_name, const Address& address,
                        std::uint16_t port, std::span<const Address> own) {
  if (!by_name.allowed) return by_name;
  if (const HostRule* rule = denying(net, address, port)) return denied(*rule);
  const AddressKind kind = kind_of(address);
  const bool is_own = std::ranges::find(own, innermost(address)) != own.end();
  if (kind == AddressKind::Public && !is_own) return by_name;
  Verdict literal = decide_literal(net, address, port, own);
  if (literal.allowed) return literal;
  literal.reason = is_own ? "the name leads to this host itself"
                          : "the name leads to a " + std::string(name_of(kind)) + " address";
  return literal;
}

bool is_known_name(const NetRules& net, std::string_view name) {
  if (net.mode != NetMode::Allow) return false;
  const auto names_it = [&](const HttpRule& rule) { return rule.host.name == name; };
  if (std::ranges::any_of(net.http, names_it)) return true;
  return std::ranges::any_of(net.allow, [&](const HostRule& rule) {
    // Rules hold intervals of ports, so the first one that is left over is one of these.
    if (is_address(rule)) return false;
    std::uint32_t port = rule.first_port;
    while (port <= rule.last_port) {
      if (!matches_name(rule, name, static_cast<std::uint16_t>(port))) return false;
      const auto deny = std::ranges::find_if(net.deny, [&](const HostRule& other) {
        return matches_name(other, name, static_cast<std::uint16_t>(port));
      });
      if (deny == net.deny.end()) return true;
      port = deny->last_port + 1U;
    }
    return false;
  });
}

namespace {

Result<HostRule> parse_target(std::string_view host, std::uint16_t port) {
  const bool bare_ipv6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  std::string text(host);
  if (bare_ipv6) text = "[" + text + "]";
  CORDON_TRY(rule, parse_host_rule(text));
  const bool one_host = rule.kind == HostRule::Kind::Name ||
                        (rule.kind == HostRule::Kind::Address4 && rule.prefix == 32) ||
                        (rule.kind == HostRule::Kind::Address6 && rule.prefix == 128);
  const bool no_port = rule.first_port == 1 && rule.last_port == 65535;
  if (!one_host || !no_port || port == 0) {
    return fail(policy_error(quote(host) + " is not one host", "write HOST:PORT"));
  }
  rule.first_port = port;
  rule.last_port = port;
  return rule;
}

const HostRule* covering(const std::vector<HostRule>& rules, const HostRule& target) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const HostRule& rule) { return covers(rule, target); });
  return found == rules.end() ? nullptr : &*found;
}

std::string why_nothing_allows(const NetRules& net, const HostRule& target) {
  if (is_loopback_name(target.name)) {
    return "loopback inside is the sandbox's own; the host's needs a rule with exactly this port";
  }
  HostRule any_port = target;
  for (const HostRule& rule : net.allow) {
    any_port.first_port = rule.first_port;
    any_port.last_port = rule.last_port;
    if (covers(rule, any_port)) return "the host is allowed, but not this port";
  }
  return "no rule allows it";
}

}  // namespace

Verdict decide_connect(const NetRules& net, std::string_view host, std::uint16_t port,
                       std::span<const Address> own) {
  const auto target = parse_target(host, port);
  if (!target) return {false, "malformed host", target.error().what, target.error().hint};
  const std::string mode = "net.mode = \"" + std::string(name_of(net.mode)) + "\"";
  const std::string change = "--allow " + to_string(*target);
  if (net.mode == NetMode::None) {
    return {false, mode, "there is no network inside but loopback", change};
  }
  if (const HostRule* rule = covering(net.deny, *target)) {
    return {false, "net.deny \"" + to_string(*rule) + "\"", "a deny wins over every allow",
            "remove the deny where it was written"};
  }
  if (net.mode == NetMode::Open) return {true, mode, "everything that is not denied", {}};
  if (is_address(*target)) {
    const bool four = target->kind == HostRule::Kind::Address4;
    return decide_literal(net, {four ? Address::Family::V4 : Address::Family::V6, target->address},
                          port, own);
  }
  if (find_http_rule(net, *target) != nullptr) {
    return {true, "[[http]] " + to_string(*target), "the host is reached by requests alone", {}};
  }
  const HostRule* rule = covering(net.allow, *target);
  // A rule without a port would take all of the sandbox's own loopback away.
  if (rule != nullptr && is_loopback_name(target->name) && rule->first_port != rule->last_port) {
    rule = nullptr;
  }
  if (rule != nullptr) {
    return {true, "net.allow \"" + to_string(*rule) + "\"", "the rule covers host and port", {}};
  }
  const auto same_host = std::ranges::find_if(
      net.http, [&](const HttpRule& http) { return http.host.name == target->name; });
  if (same_host != net.http.end()) {
    return {false, "[[http]] " + to_string(same_host->host),
            "the host is reached by requests alone, and not at this port", change};
  }
  return {false, mode, why_nothing_allows(net, *target), change};
}

}  // namespace cordon
