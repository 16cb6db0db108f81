// What the clamp does not reduce, for any request: an option is granted in full or refused, and a
// place to start in of which nothing is left is refused. Both are told by the lists alone, without
// the code that decides them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/path.h"
#include "policy/clamp.h"
#include "policy/net_rules.h"
#include "policy/presets.h"
#include "support/choices.h"
#include "support/property.h"

namespace cordon {
namespace {

using testing::any_choices;
using testing::check_cases;
using testing::Choices;
using testing::in_this_build;

const std::vector<std::string> kPaths{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/b/a", "/c"};
const std::vector<std::string> kProbes{"/a",     "/b",     "/c",       "/a/a", "/a/b",  "/b/a",
                                       "/a/b/a", "/a/b/b", "/a/b/a/a", "/c/a", "/a/a/x"};
const std::vector<std::string> kHosts{"a.example:443", "b.example", "*.a.example", "10.0.0.0/8"};
const std::vector<std::string> kNames{"ONE", "TWO", "THREE"};

std::vector<Grant> any_grants(Choices& choices, std::size_t most) {
  std::vector<Grant> grants;
  for (std::size_t count = choices.below(most + 1); count > 0; --count) {
    const std::string& path = choices.of(kPaths);
    grants.push_back({path, path, path, Grant::Source::Policy, FileKind::Directory, {1, 1}});
  }
  return grants;
}

NetRules any_net(Choices& choices) {
  NetRules net;
  net.mode = access_of(choices.of(std::vector{NetMode::None, NetMode::Allow, NetMode::Open}));
  if (net.mode != NetMode::Allow) return net;
  for (std::size_t count = choices.below(3); count > 0; --count) {
    net.allow.push_back(*parse_host_rule(choices.of(kHosts)));
  }
  return net;
}

Limits any_limits(Choices& choices) {
  Limits limits;
  for (const LimitField& field : limit_fields()) {
    if (choices.one_in(3)) limits.*field.member = 1 + choices.below(3);
  }
  return limits;
}

Policy any_policy(Choices& choices) {
  Policy policy;
  policy.net = any_net(choices);
  policy.limits = any_limits(choices);
  if (choices.one_in(2)) policy.fs.scratch = 1 + choices.below(3);
  for (std::size_t count = choices.below(3); count > 0; --count) {
    policy.env.pass.push_back(choices.of(kNames));
  }
  return policy;
}

Resolved any_request(Choices& choices) {
  Resolved request;
  request.policy = any_policy(choices);
  request.read = any_grants(choices, 3);
  request.write = any_grants(choices, 2);
  return request;
}

std::vector<ResolvedCeiling> any_ceilings(Choices& choices) {
  std::vector<ResolvedCeiling> ceilings(choices.below(3));
  for (ResolvedCeiling& ceiling : ceilings) {
    ceiling.ceiling.policy = any_policy(choices);
    ceiling.ceiling.bounds_env = choices.one_in(2);
    ceiling.read = any_grants(choices, 3);
    ceiling.write = any_grants(choices, 3);
  }
  return ceilings;
}

// Some of what is asked for, as if it had been typed.
Resolved with_options(Resolved request, Choices& choices) {
  for (std::vector<Grant>* grants : {&request.read, &request.write}) {
    for (Grant& grant : *grants) {
      if (choices.one_in(2)) grant.origin = Origin::Option;
    }
  }
  OptionRequests& options = request.policy.options;
  options.net = request.policy.net.mode == NetMode::Open && choices.one_in(2);
  options.scratch = request.policy.fs.scratch && choices.one_in(2);
  for (const HostRule& rule : request.policy.net.allow) {
    if (choices.one_in(2)) options.allow.push_back(rule);
  }
  for (const std::string& name : request.policy.env.pass) {
    if (choices.one_in(2)) options.env.push_back(name);
  }
  for (const LimitField& field : limit_fields()) {
    if (request.policy.limits.*field.member && choices.one_in(2)) {
      options.limits.emplace_back(field.key);
    }
  }
  return request;
}

enum class Right { None, Read, Write };

const Grant* longest(const std::vector<Grant>& grants, const std::string& path) {
  const Grant* found = nullptr;
  for (const Grant& grant : grants) {
    if (!contains(grant.path, path)) continue;
    if (found == nullptr || grant.path.size() > found->path.size()) found = &grant;
  }
  return found;
}

Right right_at(const std::vector<Grant>& read, const std::vector<Grant>& write,
               const std::string& path) {
  const Grant* r = longest(read, path);
  const Grant* w = longest(write, path);
  if (r == nullptr && w == nullptr) return Right::None;
  const bool writes = w != nullptr && (r == nullptr || w->path.size() > r->path.size());
  return writes ? Right::Write : Right::Read;
}

// Whether all that an option for a path asked for is there, wherever the request says nothing
// closer.
bool is_whole(const Grant& grant, Right right, const Resolved& request, const Effective& result) {
  for (const std::string& path : kProbes) {
    if (!contains(grant.path, path)) continue;
    const Grant* closest = longest(request.read, path);
    const Grant* writing = longest(request.write, path);
    const std::size_t longest_rule = std::max(closest == nullptr ? 0 : closest->path.size(),
                                              writing == nullptr ? 0 : writing->path.size());
    if (longest_rule > grant.path.size()) continue;
    if (right_at(result.read, result.write, path) < right) return false;
  }
  return true;
}

bool holds_options(const Resolved& request, const Effective& result) {
  const OptionRequests& options = request.policy.options;
  for (const Grant& grant : request.write) {
    if (grant.origin == Origin::Option && !is_whole(grant, Right::Write, request, result)) {
      return false;
    }
  }
  for (const Grant& grant : request.read) {
    if (grant.origin == Origin::Option && !is_whole(grant, Right::Read, request, result)) {
      return false;
    }
  }
  if (options.net && result.net.mode != NetMode::Open) return false;
  for (const HostRule& rule : options.allow) {
    const auto kept = [&](const HostRule& other) { return covers(other, rule); };
    if (std::ranges::none_of(result.net.allow, kept)) return false;
  }
  for (const std::string& name : options.env) {
    if (std::ranges::find(result.env.pass, name) == result.env.pass.end()) return false;
  }
  for (const LimitField& field : limit_fields()) {
    const bool asked = std::ranges::find(options.limits, field.key) != options.limits.end();
    if (asked && result.limits.*field.member != request.policy.limits.*field.member) return false;
  }
  return !options.scratch || result.scratch == request.policy.fs.scratch;
}

TEST(RefusalProperty, AnOptionIsGrantedInFullOrRefused) {
  int granted = 0;
  int refused = 0;
  check_cases(10'000, [&] {
    Choices choices = any_choices();
    const Resolved plain = any_request(choices);
    const auto ceilings = any_ceilings(choices);
    const Resolved request = with_options(plain, choices);
    const auto reduced = clamp(plain, ceilings);
    RC_ASSERT(reduced.has_value());
    const auto clamped = clamp(request, ceilings);
    RC_ASSERT(clamped.has_value() == holds_options(request, reduced->effective()));
    if (!clamped) {
      ++refused;
      RC_ASSERT(clamped.error().kind == ErrorKind::Policy);
      RC_ASSERT(!clamped.error().hint.empty());
      return;
    }
    ++granted;
    for (const Reduction& reduction : clamped->reductions()) {
      RC_ASSERT(reduction.origin == Origin::Document);
    }
    // Who asked changes nothing of what is granted.
    RC_ASSERT(clamped->reductions() == reduced->reductions());
    for (const std::string& path : kProbes) {
      RC_ASSERT(right_at(clamped->effective().read, clamped->effective().write, path) ==
                right_at(reduced->effective().read, reduced->effective().write, path));
    }
  });
  EXPECT_GT(granted, in_this_build(500));
  EXPECT_GT(refused, in_this_build(500));
}

TEST(RefusalProperty, SomethingOfThePlaceToStartInIsLeftOrTheRequestIsRefused) {
  int started = 0;
  int refused = 0;
  check_cases(10'000, [&] {
    Choices choices = any_choices();
    Resolved request = any_request(choices);
    const auto ceilings = any_ceilings(choices);
    const auto reduced = clamp(request, ceilings);
    RC_ASSERT(reduced.has_value());
    request.start = choices.of(kProbes);
    const auto near = [&](const Grant& grant) {
      return contains(grant.path, request.start) || contains(request.start, grant.path);
    };
    const bool asked = right_at(request.read, request.write, request.start) != Right::None;
    const bool left = std::ranges::any_of(reduced->effective().read, near) ||
                      std::ranges::any_of(reduced->effective().write, near);
    const auto clamped = clamp(request, ceilings);
    RC_ASSERT(clamped.has_value() == (!asked || left));
    clamped ? ++started : ++refused;
  });
  EXPECT_GT(started, in_this_build(500));
  EXPECT_GT(refused, in_this_build(500));
}

}  // namespace
}  // namespace cordon
