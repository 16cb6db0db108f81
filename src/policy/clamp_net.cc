#include "policy/clamp_net.h"

#include <algorithm>
#include <set>

#include "policy/address.h"
#include "policy/clamp.h"
#include "policy/host_rule_index.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon::detail {
namespace {

using Because = Reduction::Because;

// Sorted, without rules that another one covers: the one form of a list, whatever the order in
// which ceilings were met.
void reduce(std::vector<HostRule>& rules) {
  sort_unique(rules);
  const HostRuleIndex index(rules);
  std::vector<HostRule> kept;
  for (const HostRule& rule : rules) {
    if (!index.another_makes_needless(rule)) kept.push_back(rule);
  }
  rules = std::move(kept);
}

// Two rules share something only if the host of one lies around that of the other.
std::vector<HostRule> common(const std::vector<HostRule>& a, const std::vector<HostRule>& b) {
  const HostRuleIndex of_a(a);
  const HostRuleIndex of_b(b);
  std::vector<HostRule> both;
  const auto add = [&](const HostRule& left, const HostRule& right) {
    if (auto rule = intersect(left, right)) both.push_back(*std::move(rule));
  };
  for (const HostRule& left : a)
    of_b.visit_around(left, [&](const HostRule& right) { add(left, right); });
  for (const HostRule& right : b)
    of_a.visit_around(right, [&](const HostRule& left) { add(left, right); });
  return both;
}

// Hosts are named in mode Allow only: None has none left, Open needs none.
NetRules meet(const NetRules& a, const NetRules& b) {
  NetRules result;
  result.mode = std::min(a.mode, b.mode);
  if (result.mode == NetMode::Allow) {
    if (a.mode == NetMode::Open) {
      result.allow = b.allow;
    } else if (b.mode == NetMode::Open) {
      result.allow = a.allow;
    } else {
      result.allow = common(a.allow, b.allow);
    }
    reduce(result.allow);
  }
  result.deny = a.deny;
  result.deny.insert(result.deny.end(), b.deny.begin(), b.deny.end());
  sort_unique(result.deny);
  result.http = meet_http(a, b);
  return result;
}

// True for an address that no range admits. This host's own are not known here.
bool has_to_be_named(const HostRule& rule) {
  if (!names_one_address(rule)) return false;
  const bool four = rule.kind == HostRule::Kind::Address4;
  const AddressKind kind =
      kind_of({four ? Address::Family::V4 : Address::Family::V6, rule.address});
  return kind != AddressKind::Public && kind != AddressKind::Private;
}

// Hosts that a ceiling lets be reached by requests alone, and for which nothing else was asked.
std::vector<HostRule> endpoints_of_ceilings(const NetRules& asked, const NetRules& got) {
  std::set<HostRule> own;
  for (const HttpRule& rule : asked.http) own.insert(rule.host);
  std::vector<HostRule> endpoints;
  for (const HttpRule& rule : got.http)
    if (!own.contains(rule.host)) endpoints.push_back(rule.host);
  return endpoints;
}

void report_hosts(const Policy& policy, const NetRules& got, Reductions& reductions) {
  const HostRuleIndex index(got.allow);
  const std::set<HostRule> options(policy.options.allow.begin(), policy.options.allow.end());
  const std::vector<HostRule> endpoints = endpoints_of_ceilings(policy.net, got);
  const HostRuleIndex by_requests(endpoints);
  for (const HostRule& rule : policy.net.allow) {
    const bool kept =
        has_to_be_named(rule) ? index.any_makes_needless(rule) : index.any_covers(rule);
    const Origin origin = options.contains(rule) ? Origin::Option : Origin::Document;
    if (const auto narrowed = by_requests.covered_by(rule); !narrowed.empty()) {
      reductions.push_back({"allow", to_string(rule),
                            "requests alone to " + to_string(*narrowed.front()), Because::Narrowed,
                            origin});
      continue;
    }
    if (kept) continue;
    std::string rest;
    for (const HostRule* other : index.covered_by(rule))
      rest.append(rest.empty() ? "" : ", ").append(to_string(*other));
    if (rest.empty()) {
      reductions.push_back(
          {"allow", to_string(rule), std::nullopt, Because::OutsideCeiling, origin});
    } else {
      reductions.push_back({"allow", to_string(rule), std::move(rest), Because::Narrowed, origin});
    }
  }
}

bool asks_by_option(const Policy& policy) {
  return policy.net.mode == NetMode::Allow &&
         !(policy.options.allow.empty() && policy.options.http.empty());
}

// A deny wins over every grant, so an option that names what is denied would do nothing. A document
// may well deny a part of what it grants.
void report_denied(const Policy& policy, const NetRules& got, Reductions& reductions) {
  if (!asks_by_option(policy)) return;
  const HostRuleIndex denies(got.deny);
  for (const HostRule& rule : policy.options.allow) {
    if (!denies.any_covers(rule)) continue;
    reductions.push_back(
        {"allow", to_string(rule), std::nullopt, Because::Forbidden, Origin::Option});
  }
}

// A ceiling that is open permits every port: the command could take it on the host itself. What is
// published is only what was asked for, even by a request for an open network that was narrowed.
bool permits_publishing(const NetRules& bound, const PublishRule& rule) {
  return bound.mode == NetMode::Open ||
         std::ranges::find(bound.publish, rule) != bound.publish.end();
}

NetRules narrow(const NetRules& rules, const Ceiling& ceiling) {
  NetRules bound = ceiling.policy.net;
  if (!ceiling.bounds_net) {
    bound.mode = access_of(NetMode::Open);
    bound.http.clear();
  }
  NetRules result = meet(rules, bound);
  for (const PublishRule& rule : rules.publish) {
    if (permits_publishing(bound, rule)) result.publish.push_back(rule);
  }
  // Also a ceiling that bounds no network has to say so: these are the person's keys.
  if (ceiling.policy.net.ssh_agent) result.ssh_agent = rules.ssh_agent;
  return result;
}

void report_ports(const Policy& policy, const NetRules& got, Reductions& reductions) {
  const auto& options = policy.options.publish;
  for (const PublishRule& rule : policy.net.publish) {
    if (std::ranges::find(got.publish, rule) != got.publish.end()) continue;
    const bool option = std::ranges::find(options, rule) != options.end();
    reductions.push_back({"publish", to_string(rule), std::nullopt, Because::OutsideCeiling,
                          option ? Origin::Option : Origin::Document});
  }
}

// In its one form even without a ceiling.
NetRules in_one_form(const NetRules& rules) {
  NetRules any;
  any.mode = access_of(NetMode::Open);
  NetRules result = meet(rules, any);
  result.publish = rules.publish;
  result.ssh_agent = rules.ssh_agent;
  sort_unique(result.publish);
  return result;
}

}  // namespace

void clamp_net(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions) {
  const NetRules& asked = request.policy.net;
  result.net = in_one_form(asked);
  for (const ResolvedCeiling& ceiling : ceilings) result.net = narrow(result.net, ceiling.ceiling);
  report_ports(request.policy, result.net, reductions);
  if (asked.ssh_agent && !result.net.ssh_agent) {
    reductions.push_back({"ssh_agent", "true", std::nullopt, Because::OutsideCeiling,
                          request.policy.options.ssh_agent ? Origin::Option : Origin::Document});
  }
  report_denied(request.policy, result.net, reductions);
  if (result.net.mode != asked.mode) {
    const Because because =
        result.net.mode == NetMode::None ? Because::OutsideCeiling : Because::Narrowed;
    const bool option = request.policy.options.net || asks_by_option(request.policy);
    reductions.push_back({"net", std::string(name_of(asked.mode)),
                          std::string(name_of(result.net.mode)), because,
                          option ? Origin::Option : Origin::Document});
  } else if (asked.mode == NetMode::Allow) {
    report_hosts(request.policy, result.net, reductions);
    report_http(request.policy, result.net, reductions);
  }
}

// The definitions are the operator's: those of the policy, if it is a file of theirs, and of every
// ceiling. Each is used only by the rules that name it, and goes only to its own host. Two that
// differ are none: nobody could say which one was meant. How many requests may carry it is a bound:
// the smallest holds.
void clamp_secrets(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions) {
  for (HttpRule& rule : result.net.http) {
    if (rule.secret.empty()) continue;
    std::optional<SecretRule> found;
    std::optional<std::uint64_t> asked;
    bool agreed = true;
    const auto look = [&](const Policy& policy) {
      for (const SecretRule& secret : policy.secrets) {
        if (secret.name != rule.secret || secret.host != rule.host) continue;
        SecretRule bounded = secret;
        if (found) {
          const auto& bound = found->requests;
          if (bound) bounded.requests = std::min(*bound, secret.requests.value_or(*bound));
          found->requests = bounded.requests;
          agreed = agreed && *found == bounded;
        }
        found = std::move(bounded);
      }
    };
    look(request.policy);
    if (found) asked = found->requests;
    for (const ResolvedCeiling& ceiling : ceilings) look(ceiling.ceiling.policy);
    if (!found || !agreed) {
      reductions.push_back({"secret", rule.secret, std::nullopt,
                            !found ? Because::Nonexistent : Because::Malformed});
      rule.secret.clear();
      continue;
    }
    if (std::ranges::find(result.secrets, *found) != result.secrets.end()) continue;
    if (asked && asked != found->requests) {
      reductions.push_back({"secret", rule.secret + " requests " + std::to_string(*asked),
                            std::to_string(*found->requests), Because::Narrowed});
    }
    result.secrets.push_back(*std::move(found));
  }
  std::ranges::sort(result.secrets, {},
                    [](const SecretRule& secret) { return std::pair(secret.name, secret.host); });
}

}  // namespace cordon::detail

namespace cordon {

bool permits_host(const Ceiling& ceiling, const HostRule& host) {
  Policy policy;
  policy.net.mode = NetMode::Allow;
  policy.net.allow = {host};
  const NetRules got = detail::narrow(policy.net, ceiling);
  std::vector<Reduction> reductions;
  if (got.mode == NetMode::Allow) detail::report_hosts(policy, got, reductions);
  return got.mode == NetMode::Allow && reductions.empty();
}

bool reaches_ssh(const NetRules& net) {
  constexpr std::uint16_t kSshPort = 22;
  return net.mode == NetMode::Allow && std::ranges::any_of(net.allow, [](const HostRule& rule) {
           return rule.first_port <= kSshPort && kSshPort <= rule.last_port;
         });
}

bool permits_request(const Ceiling& ceiling, const HostRule& endpoint,
                     const RequestPattern& pattern) {
  Policy policy;
  allow_request(policy.net, endpoint, pattern);
  const NetRules got = detail::narrow(policy.net, ceiling);
  std::vector<Reduction> reductions;
  if (got.mode == NetMode::Allow) report_http(policy, got, reductions);
  return got.mode == NetMode::Allow && reductions.empty();
}

bool permits_port(const Ceiling& ceiling, const PublishRule& rule) {
  return !ceiling.bounds_net || detail::permits_publishing(ceiling.policy.net, rule);
}

NetRules narrow_net(const NetRules& rules, std::span<const Ceiling> ceilings) {
  NetRules result = rules;
  for (const Ceiling& ceiling : ceilings) result = detail::narrow(result, ceiling);
  return result;
}

}  // namespace cordon
