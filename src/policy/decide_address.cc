#include "policy/decide_address.h"

#include <algorithm>

#include "policy/host_rule.h"

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

}  // namespace cordon
