// The clamp is a meet. Documents are made over a tiny alphabet so that containment, equality and
// overlap happen in most cases, and are compared through slow readings of what a document means.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "base/path.h"
#include "policy/clamp.h"
#include "policy/environment.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"
#include "policy/presets.h"
#include "support/choices.h"
#include "support/missing_layers.h"
#include "support/property.h"

namespace cordon {

// Enough to see a counterexample.
std::ostream& operator<<(std::ostream& out, const Grant& grant) {
  return out << grant.path << (grant.source == Grant::Source::Policy ? "" : "(baseline)");
}

template <typename Document>
void print_lists(std::ostream& out, const Document& document) {
  out << "read:";
  for (const Grant& grant : document.read) out << " " << grant;
  out << " write:";
  for (const Grant& grant : document.write) out << " " << grant;
}

std::ostream& operator<<(std::ostream& out, const NetRules& net) {
  out << " net: " << name_of(net.mode);
  for (const HostRule& rule : net.allow) out << " " << to_string(rule);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Resolved& request) {
  print_lists(out, request);
  return out << request.policy.net << "\n";
}

std::ostream& operator<<(std::ostream& out, const ResolvedCeiling& ceiling) {
  print_lists(out, ceiling);
  return out << ceiling.ceiling.policy.net << "\n";
}

namespace {

using testing::check_cases;

using testing::any_choices;
using testing::Choices;

const std::vector<std::string> kVariables{"A", "B", "C", "LD_PRELOAD"};
const std::vector<Layer> kLayers{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                 Layer::Capabilities, Layer::Cgroup};

std::string any_path(Choices& choices) {
  std::string path;
  for (std::size_t depth = 1 + choices.below(3); depth > 0; --depth) {
    path += choices.one_in(2) ? "/b" : "/a";
  }
  return path;
}

Grant grant_at(const std::string& path) {
  Grant grant;
  grant.written = path;
  grant.lexical = path;
  grant.path = path;
  grant.kind = FileKind::Directory;
  grant.id = {1, std::hash<std::string>{}(path)};
  return grant;
}

std::vector<Grant> any_grants(Choices& choices, std::size_t most) {
  std::vector<Grant> grants;
  for (std::size_t count = choices.below(most + 1); count > 0; --count) {
    Grant grant = grant_at(choices.one_in(16) ? "/" : any_path(choices));
    if (choices.one_in(8)) grant.lexical = any_path(choices);
    grants.push_back(std::move(grant));
  }
  return grants;
}

void add_baseline(Choices& choices, std::vector<Grant>& read) {
  for (std::size_t count = choices.below(3); count > 0; --count) {
    Grant grant = grant_at(any_path(choices));
    grant.source = choices.one_in(2) ? Grant::Source::Toolchain : Grant::Source::System;
    read.push_back(std::move(grant));
  }
}

std::vector<DenyGlob> any_denies(Choices& choices) {
  std::vector<DenyGlob> denies;
  for (std::size_t count = choices.below(3); count > 0; --count) {
    if (choices.one_in(2)) {
      denies.push_back({"*.x", "", "*.x"});
    } else {
      const std::string path = any_path(choices);
      denies.push_back({path, path, ""});
    }
  }
  return denies;
}

const std::vector<HostRule>& host_alphabet() {
  static const std::vector<HostRule> rules = [] {
    std::vector<HostRule> parsed;
    for (const char* host : {"x.org", "a.x.org", "b.a.x.org", "*.x.org", "*.a.x.org", "10.0.0.0/8",
                             "10.1.0.0/16", "10.1.2.3", "[fd00::]/8", "[fd00::1]"}) {
      for (const char* port : {"", ":443", ":400-500", ":450-600"}) {
        parsed.push_back(parse_host_rule(std::string(host) + port).value());
      }
    }
    return parsed;
  }();
  return rules;
}

const std::vector<HostRule>& endpoint_alphabet() {
  static const std::vector<HostRule> endpoints{parse_http_host("x.org").value(),
                                               parse_http_host("a.x.org:470").value()};
  return endpoints;
}

SecretRule secret_for(const HostRule& host) {
  SecretRule secret;
  secret.name = "key";
  secret.host = host;
  secret.from = "env:KEY";
  return secret;
}

std::vector<HttpRule> any_http(Choices& choices) {
  static const std::vector<RequestPattern> patterns = [] {
    std::vector<RequestPattern> parsed;
    for (const char* text : {"GET /a", "POST /a", "* /a/*", "GET /a/**", "* /**", "GET /*/b"})
      parsed.push_back(parse_request_pattern(text).value());
    return parsed;
  }();
  std::vector<HttpRule> rules;
  for (const HostRule& endpoint : endpoint_alphabet()) {
    if (choices.one_in(2)) continue;
    HttpRule rule;
    rule.host = endpoint;
    for (std::size_t count = choices.below(4); count > 0; --count)
      rule.allow.push_back(choices.of(patterns));
    if (choices.one_in(4)) rule.deny.push_back(choices.of(patterns));
    if (choices.one_in(4)) rule.strip.emplace_back(choices.one_in(2) ? "a" : "b");
    if (choices.one_in(4)) rule.request_bytes = 1024 * (1 + choices.below(3));
    if (choices.one_in(4)) rule.per_minute = 1 + choices.below(3);
    rule.websocket = choices.one_in(2);
    if (choices.one_in(2)) rule.secret = "key";
    rules.push_back(std::move(rule));
  }
  return rules;
}

NetRules any_net(Choices& choices) {
  NetRules net;
  net.mode = access_of(static_cast<NetMode>(choices.below(3)));
  for (std::size_t count = net.mode == NetMode::Allow ? choices.below(4) : 0; count > 0; --count) {
    net.allow.push_back(choices.of(host_alphabet()));
  }
  if (choices.one_in(4)) net.deny.push_back(choices.of(host_alphabet()));
  if (net.mode == NetMode::Allow && choices.one_in(2)) net.http = any_http(choices);
  return net;
}

std::vector<Layer> any_layers(Choices& choices) {
  std::vector<Layer> layers;
  for (const Layer layer : kLayers) {
    if (choices.one_in(2)) layers.push_back(layer);
  }
  return layers;
}

std::optional<std::vector<BackendKind>> any_backends(Choices& choices) {
  if (choices.one_in(2)) return std::nullopt;
  std::vector<BackendKind> backends;
  for (const BackendKind kind : kBackendKinds) {
    if (choices.one_in(2)) backends.push_back(kind);
  }
  return backends;
}

// Of known agents, and none: a ceiling without a name means every agent.
const std::vector<std::string> kAgentNames{"", "claude", "codex"};

std::vector<std::string> any_names(Choices& choices) {
  std::vector<std::string> names;
  for (const char* name : {".vscode", ".idea", ".claude", ".zed"})
    if (choices.one_in(2)) names.emplace_back(name);
  return names;
}

Policy any_policy(Choices& choices) {
  Policy policy;
  policy.net = any_net(choices);
  for (const HostRule& endpoint : endpoint_alphabet()) {
    if (choices.one_in(2)) continue;
    policy.secrets.push_back(secret_for(endpoint));
    if (choices.one_in(2)) policy.secrets.back().requests = 1 + choices.below(3);
  }
  for (const std::string& name : kVariables) {
    if (choices.one_in(2)) policy.env.pass.push_back(name);
    if (choices.one_in(3)) policy.env.set.emplace(name, choices.one_in(2) ? "1" : "0");
  }
  for (const LimitField& field : limit_fields()) {
    if (choices.one_in(2)) policy.limits.*field.member = 1024 * (1 + choices.below(3));
  }
  if (choices.one_in(2)) policy.fs.scratch = 1024 * (1 + choices.below(3));
  policy.fs.home = static_cast<HomeMode>(choices.below(3));
  policy.fs.caches = choices.one_in(2);
  policy.fs.trust_tracked = choices.one_in(2);
  policy.fs.mode = static_cast<WriteMode>(choices.below(2));
  policy.fs.stage = static_cast<StageEnd>(choices.below(2));
  policy.agent.name = kAgentNames[choices.below(kAgentNames.size())];
  if (choices.one_in(2)) policy.agent.share_login = hand_over_the_agents_login();
  policy.require.layers = any_layers(choices);
  if (choices.one_in(2)) policy.protect.add = any_names(choices);
  return policy;
}

std::vector<Grant> any_sockets(Choices& choices) {
  std::vector<Grant> sockets;
  for (const char* path : {"/run/a", "/run/b", "/run/c"}) {
    if (choices.one_in(2)) continue;
    const std::uint64_t inode = 1 + choices.below(2);
    sockets.push_back({path, path, path, Grant::Source::Policy, FileKind::Other, {1, inode}});
  }
  return sockets;
}

Resolved any_request(Choices& choices) {
  Resolved request;
  request.policy = any_policy(choices);
  request.sockets = any_sockets(choices);
  request.read = any_grants(choices, 4);
  request.write = any_grants(choices, 3);
  add_baseline(choices, request.read);
  request.deny = any_denies(choices);
  return request;
}

ResolvedCeiling any_ceiling(Choices& choices) {
  ResolvedCeiling ceiling;
  ceiling.ceiling.policy = any_policy(choices);
  ceiling.ceiling.policy.require.accept_missing = going_without(any_layers(choices));
  ceiling.ceiling.policy.require.backends = any_backends(choices);
  ceiling.ceiling.policy.protect.release = any_names(choices);
  ceiling.held.protect = ceiling.ceiling.policy.protect;
  ceiling.ceiling.bounds_net = !choices.one_in(4);
  ceiling.sockets = any_sockets(choices);
  ceiling.ceiling.bounds_env = choices.one_in(2);
  if (choices.one_in(2)) ceiling.ceiling.home = static_cast<HomeMode>(choices.below(3));
  if (choices.one_in(2)) ceiling.ceiling.caches = choices.one_in(2);
  if (choices.one_in(2)) ceiling.ceiling.trust_tracked = choices.one_in(2);
  if (choices.one_in(2)) ceiling.ceiling.mode = static_cast<WriteMode>(choices.below(2));
  if (choices.one_in(2)) ceiling.ceiling.stage = static_cast<StageEnd>(choices.below(2));
  ceiling.read = any_grants(choices, 4);
  ceiling.write = any_grants(choices, 4);
  add_baseline(choices, ceiling.read);
  ceiling.deny = any_denies(choices);
  return ceiling;
}

std::vector<ResolvedCeiling> any_ceilings(Choices& choices) {
  std::vector<ResolvedCeiling> ceilings;
  for (std::size_t count = 1 + choices.below(3); count > 0; --count) {
    ceilings.push_back(any_ceiling(choices));
  }
  return ceilings;
}

// Every path a grant can name, and one below the deepest.
const std::vector<std::string>& all_paths() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> all{"/"};
    for (const std::string a : {"/a", "/b"}) {
      all.push_back(a);
      for (const std::string b : {"/a", "/b"}) {
        all.push_back(a + b);
        for (const std::string c : {"/a", "/b", "/ab"}) {
          std::string deep = a + b;
          deep += c;
          all.push_back(deep);
          all.push_back(deep.append("/z"));
        }
      }
    }
    return all;
  }();
  return paths;
}

enum class Reading { None, Read, Write };

bool yields(const Grant& grant) {
  return grant.source == Grant::Source::System || grant.source == Grant::Source::Toolchain;
}

// What two lists say about a path, from the words of the contract: the longest rule decides, read
// wins between equals, and a baseline entry counts only where no rule of a person covers it.
Reading reading(const std::vector<Grant>& read, const std::vector<Grant>& write,
                const std::string& path) {
  std::size_t longest = 0;
  Reading found = Reading::None;
  bool by_baseline = false;
  const auto consider = [&](const Grant& grant, Reading what) {
    if (grant.path.size() < longest || !contains(grant.path, path)) return;
    longest = grant.path.size();
    found = what;
  };
  for (const Grant& grant : write) consider(grant, Reading::Write);
  for (const Grant& grant : read) {
    if (!yields(grant)) consider(grant, Reading::Read);
    if (yields(grant) && contains(grant.path, path)) by_baseline = true;
  }
  if (by_baseline && found == Reading::None) return Reading::Read;
  return found;
}

std::vector<Grant> without_root(std::vector<Grant> write) {
  std::erase_if(write, [](const Grant& grant) { return grant.path == "/"; });
  return write;
}

bool admits(const NetRules& net, const HostRule& target) {
  const auto covering = [&](const HostRule& rule) { return covers(rule, target); };
  if (std::any_of(net.deny.begin(), net.deny.end(), covering)) return false;
  if (net.mode == NetMode::Open) return true;
  return net.mode == NetMode::Allow && std::any_of(net.allow.begin(), net.allow.end(), covering);
}

const std::vector<AskedRequest>& all_requests() {
  static const std::vector<AskedRequest> requests = [] {
    std::vector<AskedRequest> all;
    for (const HostRule& endpoint : endpoint_alphabet())
      for (const char* method : {"GET", "POST"})
        for (const char* path : {"/", "/a", "/b", "/a/b", "/b/b", "/a/b/c"})
          all.push_back({method, endpoint, read_request_path(path).value()});
    return all;
  }();
  return requests;
}

bool sends(const NetRules& net, const AskedRequest& request) {
  return decide_request(net, request).allowed;
}

// What a rule bounds beside methods and paths.
void assert_rules_within(const NetRules& result, const NetRules& bound) {
  for (const HttpRule& rule : result.http) {
    const HttpRule* other = find_http_rule(bound, rule.host);
    if (other == nullptr) continue;
    if (other->request_bytes)
      RC_ASSERT(rule.request_bytes && *rule.request_bytes <= *other->request_bytes);
    if (other->per_minute) RC_ASSERT(rule.per_minute && *rule.per_minute <= *other->per_minute);
    RC_ASSERT((!rule.websocket || other->websocket));
    RC_ASSERT((rule.secret.empty() || rule.secret == other->secret));
    for (const std::string& name : other->strip)
      RC_ASSERT(std::find(rule.strip.begin(), rule.strip.end(), name) != rule.strip.end());
  }
  // Nobody who had rules for a host is given a connection to it.
  for (const HttpRule& rule : bound.http) {
    const AskedRequest any{"PATCH", rule.host, read_request_path("/z").value()};
    RC_ASSERT((!sends(result, any) || sends(bound, any)));
  }
}

const std::vector<HostRule>& all_targets() {
  static const std::vector<HostRule> targets = [] {
    std::vector<HostRule> parsed;
    for (const char* host :
         {"x.org", "a.x.org", "b.a.x.org", "ax.org", "10.1.2.3", "10.9.9.9", "[fd00::1]"}) {
      for (const char* port : {":80", ":443", ":470", ":600"}) {
        parsed.push_back(parse_host_rule(std::string(host) + port).value());
      }
    }
    return parsed;
  }();
  return targets;
}

NetRules net_of(const ResolvedCeiling& ceiling) {
  NetRules net = ceiling.ceiling.policy.net;
  if (!ceiling.ceiling.bounds_net) {
    net.mode = share_the_hosts_network();
    net.http.clear();
  }
  return net;
}

template <typename U, typename T = U>
bool is_subset(const std::vector<T>& small, const std::vector<U>& large) {
  return std::all_of(small.begin(), small.end(), [&](const T& value) {
    return std::find(large.begin(), large.end(), value) != large.end();
  });
}

bool names_deny(const std::vector<DenyGlob>& denies, const DenyGlob& wanted) {
  return std::any_of(denies.begin(), denies.end(), [&](const DenyGlob& deny) {
    return deny.anchor == wanted.anchor && deny.pattern == wanted.pattern;
  });
}

bool keeps_denies(const std::vector<DenyGlob>& result, const std::vector<DenyGlob>& source) {
  return std::all_of(source.begin(), source.end(),
                     [&](const DenyGlob& deny) { return names_deny(result, deny); });
}

std::vector<std::string> names_in(const EnvRules& env) {
  std::vector<std::string> names = env.pass;
  for (const auto& [name, value] : env.set) names.push_back(name);
  return names;
}

void assert_limits_within(const Limits& result, const Limits& bound) {
  for (const LimitField& field : limit_fields()) {
    if (!(bound.*field.member)) continue;
    RC_ASSERT((result.*field.member).has_value());
    RC_ASSERT(*(result.*field.member) <= *(bound.*field.member));
  }
}

// Who defines a secret bounds how many requests may carry it.
void assert_secrets_within(const std::vector<SecretRule>& result,
                           const std::vector<SecretRule>& bounds) {
  for (const SecretRule& secret : result) {
    for (const SecretRule& bound : bounds) {
      if (bound.name != secret.name || bound.host != secret.host || !bound.requests) continue;
      RC_ASSERT(secret.requests.has_value());
      RC_ASSERT(*secret.requests <= *bound.requests);
    }
  }
}

void assert_within_request(const Effective& result, const Resolved& request) {
  for (const std::string& path : all_paths()) {
    RC_ASSERT(reading(result.read, result.write, path) <=
              reading(request.read, request.write, path));
  }
  for (const HostRule& target : all_targets()) {
    RC_ASSERT((!admits(result.net, target) || admits(request.policy.net, target)));
  }
  for (const AskedRequest& one : all_requests()) {
    RC_ASSERT((!sends(result.net, one) || sends(request.policy.net, one)));
  }
  assert_rules_within(result.net, request.policy.net);
  assert_secrets_within(result.secrets, request.policy.secrets);
  RC_ASSERT(is_subset(result.sockets, request.sockets));
  RC_ASSERT(is_subset(result.env.pass, request.policy.env.pass));
  for (const auto& [name, value] : result.env.set) {
    RC_ASSERT(request.policy.env.set.at(name) == value);
  }
  assert_limits_within(result.limits, request.policy.limits);
  RC_ASSERT(result.scratch.value_or(0) <= request.policy.fs.scratch.value_or(0));
  RC_ASSERT(result.home <= request.policy.fs.home);
  RC_ASSERT(result.caches <= request.policy.fs.caches);
  RC_ASSERT(result.trust_tracked <= request.policy.fs.trust_tracked);
  RC_ASSERT(result.mode <= request.policy.fs.mode);
  RC_ASSERT(result.stage <= request.policy.fs.stage);
  RC_ASSERT(result.agent.name == request.policy.agent.name);
  RC_ASSERT(!result.agent.share_login || request.policy.agent.share_login);
  RC_ASSERT(keeps_denies(result.deny, request.deny));
  RC_ASSERT(is_subset(request.policy.require.layers, result.require));
}

void assert_within_ceiling(const Effective& result, const ResolvedCeiling& bound) {
  const Ceiling& ceiling = bound.ceiling;
  for (const std::string& path : all_paths()) {
    RC_ASSERT(reading(result.read, result.write, path) <= reading(bound.read, bound.write, path));
  }
  for (const HostRule& target : all_targets()) {
    RC_ASSERT((!admits(result.net, target) || admits(net_of(bound), target)));
  }
  for (const AskedRequest& one : all_requests()) {
    RC_ASSERT((!sends(result.net, one) || sends(net_of(bound), one)));
  }
  if (ceiling.bounds_net) assert_rules_within(result.net, ceiling.policy.net);
  assert_secrets_within(result.secrets, ceiling.policy.secrets);
  if (ceiling.bounds_net) RC_ASSERT(is_subset(result.sockets, bound.sockets));
  if (ceiling.bounds_env) {
    RC_ASSERT(is_subset(names_in(result.env), names_in(ceiling.policy.env)));
  }
  assert_limits_within(result.limits, ceiling.policy.limits);
  if (ceiling.policy.fs.scratch) {
    RC_ASSERT(result.scratch.value_or(0) <= *ceiling.policy.fs.scratch);
  }
  if (ceiling.home) RC_ASSERT(result.home <= *ceiling.home);
  if (ceiling.caches) RC_ASSERT(result.caches <= *ceiling.caches);
  if (ceiling.trust_tracked) RC_ASSERT(result.trust_tracked <= *ceiling.trust_tracked);
  if (ceiling.mode) RC_ASSERT(result.mode <= *ceiling.mode);
  if (ceiling.stage) RC_ASSERT(result.stage <= *ceiling.stage);
  const AgentRules& agent = ceiling.policy.agent;
  if (result.agent.share_login) {
    RC_ASSERT(agent.share_login);
    RC_ASSERT((agent.name.empty() || agent.name == result.agent.name));
  }
  RC_ASSERT(keeps_denies(result.deny, bound.deny));
  RC_ASSERT(is_subset(ceiling.policy.require.layers, result.require));
  RC_ASSERT(is_subset(result.accept_missing, ceiling.policy.require.accept_missing));
  RC_ASSERT(is_subset(ceiling.policy.protect.add, result.protect.add));
  RC_ASSERT(is_subset(result.protect.release, ceiling.policy.protect.release));
  if (const auto& backends = ceiling.policy.require.backends) {
    RC_ASSERT(result.backends.has_value());
    RC_ASSERT(is_subset(*result.backends, *backends));
  }
}

Resolved as_request(const Effective& effective) {
  Resolved request;
  request.policy.name = effective.name;
  request.policy.net = effective.net;
  request.policy.secrets = effective.secrets;
  request.policy.env = effective.env;
  request.policy.limits = effective.limits;
  request.policy.fs.scratch = effective.scratch;
  request.policy.fs.home = effective.home;
  request.policy.fs.caches = effective.caches;
  request.policy.fs.trust_tracked = effective.trust_tracked;
  request.policy.fs.mode = effective.mode;
  request.policy.fs.stage = effective.stage;
  request.policy.agent = effective.agent;
  request.policy.require.layers = effective.require;
  request.policy.protect.add = effective.protect.add;
  request.read = effective.read;
  request.write = effective.write;
  request.deny = effective.deny;
  request.sockets = effective.sockets;
  return request;
}

// A ceiling that permits no more than `wide` and no more than `other`.
ResolvedCeiling narrowed(const ResolvedCeiling& wide, const ResolvedCeiling& other) {
  Resolved all_of_it;
  all_of_it.policy = wide.ceiling.policy;
  all_of_it.policy.net = net_of(wide);
  all_of_it.policy.fs.home = wide.ceiling.home.value_or(HomeMode::Persistent);
  all_of_it.policy.fs.caches = wide.ceiling.caches.value_or(true);
  all_of_it.policy.fs.trust_tracked = wide.ceiling.trust_tracked.value_or(true);
  all_of_it.policy.fs.mode = wide.ceiling.mode.value_or(WriteMode::Live);
  all_of_it.policy.fs.stage = wide.ceiling.stage.value_or(StageEnd::Auto);
  if (!wide.ceiling.bounds_env) all_of_it.policy.env.pass = kVariables;
  all_of_it.read = wide.read;
  all_of_it.write = wide.write;
  all_of_it.deny = wide.deny;
  all_of_it.sockets = wide.ceiling.bounds_net ? wide.sockets : other.sockets;
  const std::vector<ResolvedCeiling> both{wide, other};
  const Clamped clamped = *clamp(all_of_it, both);
  const Effective& met = clamped.effective();
  ResolvedCeiling narrow;
  narrow.ceiling.policy = as_request(met).policy;
  narrow.ceiling.policy.require.accept_missing = going_without(met.accept_missing);
  narrow.ceiling.policy.protect.release = met.protect.release;
  // A definition bounds nothing: what a ceiling has and another has not, a run may name.
  narrow.ceiling.policy.secrets = wide.ceiling.policy.secrets;
  narrow.ceiling.home = met.home;
  narrow.ceiling.caches = met.caches;
  narrow.ceiling.trust_tracked = met.trust_tracked;
  narrow.ceiling.mode = met.mode;
  narrow.ceiling.stage = met.stage;
  narrow.ceiling.bounds_env = true;
  narrow.read = met.read;
  narrow.write = met.write;
  narrow.deny = met.deny;
  narrow.sockets = met.sockets;
  return narrow;
}

// Accepting the absence of all four runs into the floor, which keeps two of them: there a ceiling
// that accepts less may keep a layer the other one had to give back.
bool meets_the_floor(const ResolvedCeiling& ceiling) {
  const std::vector<Layer> core{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                Layer::Capabilities};
  return is_subset(core, ceiling.ceiling.policy.require.accept_missing);
}

TEST(ClampProperty, PathsAreExactlyWhatRequestAndEveryCeilingShare) {
  check_cases(20'000, [] {
    Choices choices = any_choices();
    const Resolved request = any_request(choices);
    const auto ceilings = any_ceilings(choices);
    RC_LOG() << request << rc::toString(ceilings.size());
    for (const auto& ceiling : ceilings) RC_LOG() << ceiling;
    const Clamped clamped = *clamp(request, ceilings);
    const Effective& result = clamped.effective();
    const std::vector<Grant> write = without_root(request.write);
    for (const std::string& path : all_paths()) {
      Reading expected = reading(request.read, write, path);
      for (const ResolvedCeiling& ceiling : ceilings) {
        expected = std::min(expected, reading(ceiling.read, ceiling.write, path));
      }
      RC_ASSERT(reading(result.read, result.write, path) == expected);
    }
  });
}

TEST(ClampProperty, IsNeverWiderThanTheRequestOrAnyCeilingInAnyDimension) {
  check_cases(20'000, [] {
    Choices choices = any_choices();
    const Resolved request = any_request(choices);
    const auto ceilings = any_ceilings(choices);
    const Clamped clamped = *clamp(request, ceilings);
    Resolved bound = request;
    bound.write = without_root(request.write);
    assert_within_request(clamped.effective(), bound);
    for (const ResolvedCeiling& ceiling : ceilings) {
      assert_within_ceiling(clamped.effective(), ceiling);
    }
    RC_ASSERT(!is_subset({Layer::Namespaces, Layer::Landlock, Layer::Seccomp, Layer::Capabilities},
                         clamped.effective().accept_missing));
  });
}

TEST(ClampProperty, NetworkIsExactlyWhatRequestAndEveryCeilingShare) {
  check_cases(10'000, [] {
    Choices choices = any_choices();
    Resolved request;
    request.policy.net = any_net(choices);
    std::vector<ResolvedCeiling> ceilings(choices.below(3));
    for (ResolvedCeiling& ceiling : ceilings) ceiling.ceiling.policy.net = any_net(choices);
    const Clamped clamped = *clamp(request, ceilings);
    for (const HostRule& target : all_targets()) {
      bool expected = admits(request.policy.net, target);
      for (const ResolvedCeiling& ceiling : ceilings) {
        expected = expected && admits(ceiling.ceiling.policy.net, target);
      }
      RC_ASSERT(admits(clamped.effective().net, target) == expected);
    }
  });
}

TEST(ClampProperty, RequestsAreExactlyThoseThatRequestAndEveryCeilingSend) {
  std::size_t sent = 0;
  check_cases(10'000, [&] {
    Choices choices = any_choices();
    Resolved request;
    request.policy.net = any_net(choices);
    std::vector<ResolvedCeiling> ceilings(choices.below(3));
    for (ResolvedCeiling& ceiling : ceilings) ceiling.ceiling.policy.net = any_net(choices);
    const Clamped clamped = *clamp(request, ceilings);
    for (const AskedRequest& one : all_requests()) {
      bool expected = sends(request.policy.net, one);
      for (const ResolvedCeiling& ceiling : ceilings) {
        expected = expected && sends(ceiling.ceiling.policy.net, one);
      }
      RC_ASSERT(sends(clamped.effective().net, one) == expected);
      if (expected && find_http_rule(clamped.effective().net, one.endpoint) != nullptr) ++sent;
    }
  });
  EXPECT_GT(sent, 100U);
}

TEST(ClampProperty, OfItsOwnResultChangesAndReportsNothing) {
  check_cases(15'000, [] {
    Choices choices = any_choices();
    const Resolved request = any_request(choices);
    const auto ceilings = any_ceilings(choices);
    const Clamped once = *clamp(request, ceilings);
    const Clamped twice = *clamp(as_request(once.effective()), ceilings);
    RC_ASSERT(twice.effective() == once.effective());
    RC_ASSERT(twice.reductions().empty());
  });
}

TEST(ClampProperty, UnderANarrowerCeilingIsNarrower) {
  check_cases(15'000, [] {
    Choices choices = any_choices();
    const Resolved request = any_request(choices);
    const ResolvedCeiling wide = any_ceiling(choices);
    const ResolvedCeiling narrow = narrowed(wide, any_ceiling(choices));
    const Clamped from_wide = *clamp(request, std::span(&wide, 1));
    const Clamped from_narrow = *clamp(request, std::span(&narrow, 1));
    assert_within_request(from_narrow.effective(), as_request(from_wide.effective()));
    if (!meets_the_floor(wide)) {
      RC_ASSERT(
          is_subset(from_narrow.effective().accept_missing, from_wide.effective().accept_missing));
    }
  });
}

TEST(ClampProperty, DoesNotDependOnTheOrderOfCeilings) {
  check_cases(10'000, [] {
    Choices choices = any_choices();
    const Resolved request = any_request(choices);
    auto ceilings = any_ceilings(choices);
    ceilings.push_back(any_ceiling(choices));
    const Clamped forward = *clamp(request, ceilings);
    std::rotate(ceilings.begin(),
                ceilings.begin() + static_cast<std::ptrdiff_t>(choices.below(ceilings.size())),
                ceilings.end());
    if (choices.one_in(2)) std::reverse(ceilings.begin(), ceilings.end());
    const Clamped other = *clamp(request, ceilings);
    RC_ASSERT(other.effective() == forward.effective());
    RC_ASSERT(other.reductions() == forward.reductions());
  });
}

TEST(ClampProperty, WithoutACeilingIsTheRequestLessWhatIsForbidden) {
  check_cases(10'000, [] {
    Choices choices = any_choices();
    const Resolved request = any_request(choices);
    const Clamped clamped = *clamp(request, {});
    const Effective& result = clamped.effective();
    const std::vector<Grant> write = without_root(request.write);
    for (const std::string& path : all_paths()) {
      RC_ASSERT(reading(result.read, result.write, path) == reading(request.read, write, path));
    }
    for (const HostRule& target : all_targets()) {
      RC_ASSERT(admits(result.net, target) == admits(request.policy.net, target));
    }
    EnvRules env = request.policy.env;
    std::erase_if(env.pass, is_loader_variable);
    std::erase_if(env.set, [](const auto& entry) { return is_loader_variable(entry.first); });
    RC_ASSERT(result.env == env);
    RC_ASSERT(result.limits == request.policy.limits);
    RC_ASSERT(result.scratch == request.policy.fs.scratch);
    RC_ASSERT(result.home == request.policy.fs.home);
    RC_ASSERT(result.caches == request.policy.fs.caches);
    RC_ASSERT(result.trust_tracked == request.policy.fs.trust_tracked);
    RC_ASSERT(result.mode == request.policy.fs.mode);
    RC_ASSERT(result.stage == request.policy.fs.stage);
    RC_ASSERT(result.agent == request.policy.agent);
    RC_ASSERT(result.require == request.policy.require.layers);
    RC_ASSERT(result.accept_missing.empty());
    RC_ASSERT(result.protect.release.empty());
    for (const Reduction& reduction : clamped.reductions()) {
      // A secret that nobody defines is none.
      RC_ASSERT((reduction.because == Reduction::Because::Forbidden ||
                 reduction.got == "read-only" || reduction.what == "secret"));
    }
  });
}

}  // namespace
}  // namespace cordon
