#include <algorithm>

#include "base/text.h"
#include "policy/decide_address.h"
#include "policy/host_rule.h"

namespace cordon {
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
  const HostRule* rule = covering(net.allow, *target);
  // A rule without a port would take all of the sandbox's own loopback away.
  if (rule != nullptr && is_loopback_name(target->name) && rule->first_port != rule->last_port) {
    rule = nullptr;
  }
  if (rule != nullptr) {
    return {true, "net.allow \"" + to_string(*rule) + "\"", "the rule covers host and port", {}};
  }
  return {false, mode, why_nothing_allows(net, *target), change};
}

}  // namespace cordon
