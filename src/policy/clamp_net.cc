#include "policy/clamp_parts.h"
#include "policy/host_rule.h"

namespace cordon::detail {
namespace {

using Because = Reduction::Because;

// Sorted, without rules that another one covers: the one form of a list, whatever the order in
// which ceilings were met.
void reduce(std::vector<HostRule>& rules) {
  sort_unique(rules);
  std::vector<HostRule> kept;
  for (const HostRule& rule : rules) {
    const bool covered = std::any_of(rules.begin(), rules.end(), [&](const HostRule& other) {
      return other != rule && covers(other, rule);
    });
    if (!covered) kept.push_back(rule);
  }
  rules = std::move(kept);
}

std::vector<HostRule> common(const std::vector<HostRule>& a, const std::vector<HostRule>& b) {
  std::vector<HostRule> both;
  for (const HostRule& left : a) {
    for (const HostRule& right : b) {
      if (auto rule = intersect(left, right)) both.push_back(*std::move(rule));
    }
  }
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
  return result;
}

void report_hosts(const NetRules& asked, const NetRules& got, Reductions& reductions) {
  for (const HostRule& rule : asked.allow) {
    const auto kept = [&](const HostRule& other) { return covers(other, rule); };
    if (std::any_of(got.allow.begin(), got.allow.end(), kept)) continue;
    std::string rest;
    for (const HostRule& other : got.allow) {
      if (covers(rule, other)) rest.append(rest.empty() ? "" : ", ").append(to_string(other));
    }
    if (rest.empty()) {
      reductions.push_back({"allow", to_string(rule), std::nullopt, Because::OutsideCeiling});
    } else {
      reductions.push_back({"allow", to_string(rule), std::move(rest), Because::Narrowed});
    }
  }
}

}  // namespace

void clamp_net(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions) {
  const NetRules& asked = request.policy.net;
  NetRules bound;
  bound.mode = NetMode::Open;
  for (const ResolvedCeiling& ceiling : ceilings) {
    NetRules rules = ceiling.ceiling.policy.net;
    if (!ceiling.ceiling.bounds_net) rules.mode = NetMode::Open;
    bound = meet(bound, rules);
  }
  result.net = meet(asked, bound);
  if (result.net.mode != asked.mode) {
    const Because because =
        result.net.mode == NetMode::None ? Because::OutsideCeiling : Because::Narrowed;
    reductions.push_back(
        {"net", std::string(name_of(asked.mode)), std::string(name_of(result.net.mode)), because});
  } else if (asked.mode == NetMode::Allow) {
    report_hosts(asked, result.net, reductions);
  }
}

}  // namespace cordon::detail
