#include "policy/http_rules.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "policy/clamp.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::uint16_t kHttpsPort = 443;
constexpr std::string_view kAnySegment = "*";
constexpr std::string_view kAnyRest = "**";
constexpr std::string_view kAnyMethod = "*";

// Without the leading slash, so that "/" has one segment, which is empty.
std::vector<std::string_view> segments_of(std::string_view path) {
  return split(path.substr(1), '/');
}

tl::unexpected<Error> refuse_pattern(std::string_view text, std::string_view why) {
  return fail(policy_error("request " + quote(text) + " " + std::string(why),
                           "write a method and a path: POST /v1/messages, GET /v1/models/*, "
                           "* /files/**"));
}

}  // namespace

Result<RequestPattern> parse_request_pattern(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return refuse_pattern(text, "has no path behind its method");
  const std::string_view method = text.substr(0, space);
  const bool capitals = std::ranges::none_of(method, [](char c) { return c >= 'a' && c <= 'z'; });
  if (method != kAnyMethod && !(capitals && is_request_method(method))) {
    return refuse_pattern(text, "has a method that no rule can name");
  }
  const std::string_view written = text.substr(space + 1);
  if (written.find('?') != std::string_view::npos) {
    return refuse_pattern(text, "has a query, which is not compared");
  }
  auto path = PathPattern::parse(written);
  if (!path) return fail(std::move(path).error());
  // Of a pattern with two readings, as one with an escaped slash, nobody could say what it shares
  // with another one.
  if (const auto read = read_request_path(written); !read || read->loose != read->strict) {
    return refuse_pattern(text, "has a path that servers read in two ways");
  }
  const auto segments = segments_of(path->text());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view segment = segments[i];
    if (segment.find('*') == std::string_view::npos || segment == kAnySegment) continue;
    if (segment == kAnyRest && i + 1 == segments.size()) continue;
    return refuse_pattern(text, "has a star that is neither a whole segment nor \"**\" at the end");
  }
  return RequestPattern{std::string(method), path->text()};
}

std::string to_string(const RequestPattern& pattern) { return pattern.method + " " + pattern.path; }

std::optional<RequestPattern> intersect(const RequestPattern& a, const RequestPattern& b) {
  RequestPattern both;
  if (a.method == kAnyMethod || a.method == b.method) {
    both.method = b.method;
  } else if (b.method == kAnyMethod) {
    both.method = a.method;
  } else {
    return std::nullopt;
  }
  const auto left = segments_of(a.path);
  const auto right = segments_of(b.path);
  const auto is_rest = [](const auto& list, std::size_t i) {
    return i + 1 == list.size() && list[i] == kAnyRest;
  };
  const auto append = [&](std::string_view segment) { both.path.append("/").append(segment); };
  for (std::size_t i = 0; i < left.size() || i < right.size(); ++i) {
    if (is_rest(left, i) || is_rest(right, i)) {
      // What the other one still has is all that both match.
      const auto& rest = is_rest(left, i) ? right : left;
      for (std::size_t j = i; j < rest.size(); ++j) append(rest[j]);
      break;
    }
    if (i >= left.size() || i >= right.size()) return std::nullopt;
    const bool stars = left[i] == kAnySegment || right[i] == kAnySegment;
    const std::string_view other = left[i] == kAnySegment ? right[i] : left[i];
    // An empty segment is none that a star stands for.
    if (stars ? other.empty() : left[i] != right[i]) return std::nullopt;
    append(other);
  }
  return both;
}

bool covers(const RequestPattern& outer, const RequestPattern& inner) {
  const auto both = intersect(outer, inner);
  return both && *both == inner;
}

const HttpRule* find_http_rule(const NetRules& net, const HostRule& endpoint) {
  const auto found = std::ranges::find(net.http, endpoint, &HttpRule::host);
  return found == net.http.end() ? nullptr : &*found;
}

const HttpRule* find_http_rule(const NetRules& net, std::string_view host, std::uint16_t port) {
  const auto found = std::ranges::find_if(net.http, [&](const HttpRule& rule) {
    return rule.host.name == host && rule.host.first_port == port;
  });
  return found == net.http.end() ? nullptr : &*found;
}

bool judges_requests(const NetRules& net) {
  return net.mode == NetMode::Allow && !net.http.empty();
}

void allow_request(NetRules& net, const HostRule& endpoint, RequestPattern pattern) {
  // Under another mode the list begins anew.
  if (net.mode != NetMode::Allow) {
    net.allow.clear();
    net.http.clear();
  }
  net.mode = NetMode::Allow;
  auto rule = std::ranges::find(net.http, endpoint, &HttpRule::host);
  if (rule == net.http.end()) {
    HttpRule made;
    made.host = endpoint;
    rule = net.http.insert(net.http.end(), std::move(made));
  }
  rule->allow.push_back(std::move(pattern));
}

Result<HostRule> parse_http_host(std::string_view text) {
  CORDON_TRY(rule, parse_host_rule(text));
  if (rule.kind != HostRule::Kind::Name || is_loopback_name(rule.name)) {
    return fail(policy_error("host " + quote(text) + " is no name of one host outside",
                             "write a name that a certificate is made for: api.example.com"));
  }
  if (rule.first_port == kLowestPort && rule.last_port == kHighestPort) {
    rule.first_port = kHttpsPort;
    rule.last_port = kHttpsPort;
  }
  if (!has_one_port(rule)) {
    return fail(policy_error("host " + quote(text) + " has more than one port",
                             "write one rule for each port, or none for 443"));
  }
  return rule;
}

Result<AllowedRequest> parse_allowed_request(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t slash = text.find('/', space == std::string_view::npos ? 0 : space);
  if (space == std::string_view::npos || slash == std::string_view::npos) {
    return fail(policy_error("request " + quote(text) + " names no method, host and path",
                             "write METHOD HOST/PATH, as in POST api.example.com/v1/messages"));
  }
  if (text.substr(space).find("://") != std::string_view::npos) {
    return fail(policy_error("request " + quote(text) + " has a URL, and a rule names a host",
                             "write METHOD HOST/PATH, as in POST api.example.com/v1/messages"));
  }
  if (slash == space + 1) {
    return fail(policy_error("request " + quote(text) + " names no host",
                             "write METHOD HOST/PATH, as in POST api.example.com/v1/messages"));
  }
  CORDON_TRY(endpoint, parse_http_host(text.substr(space + 1, slash - space - 1)));
  std::string pattern(text.substr(0, space + 1));
  CORDON_TRY(parsed, parse_request_pattern(pattern.append(text.substr(slash))));
  return AllowedRequest{std::move(endpoint), std::move(parsed)};
}

Result<AskedRequest> parse_asked_request(std::string_view method, std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  if (!is_request_method(method)) {
    return fail(usage_error(quote(method) + " is not a method of a request",
                            "write it in capitals, such as GET"));
  }
  if (!url.starts_with(kScheme)) {
    return fail(usage_error(quote(url) + " is not a URL that begins with https://",
                            "write https://HOST[:PORT]/PATH"));
  }
  const std::string_view rest = url.substr(kScheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  CORDON_TRY(endpoint, parse_http_host(rest.substr(0, end)));
  const std::string_view target = rest.substr(end, rest.find('?') - end);
  CORDON_TRY(path, read_request_path(target.empty() ? "/" : target));
  return AskedRequest{std::string(method), std::move(endpoint), std::move(path)};
}

namespace {

bool is_for(const RequestPattern& pattern, std::string_view method) {
  return pattern.method == kAnyMethod || pattern.method == method;
}

// Patterns of a policy were parsed before.
bool denies(const RequestPattern& pattern, const AskedRequest& request) {
  const auto path = PathPattern::parse(pattern.path);
  return is_for(pattern, request.method) && (!path || path->denies(request.path));
}

bool allows(const RequestPattern& pattern, const AskedRequest& request) {
  const auto path = PathPattern::parse(pattern.path);
  return is_for(pattern, request.method) && path && path->allows(request.path);
}

}  // namespace

Verdict decide_request(const NetRules& net, const AskedRequest& request) {
  const HostRule& endpoint = request.endpoint;
  const std::string host = to_string(endpoint);
  const HttpRule* rule = net.mode == NetMode::None ? nullptr : find_http_rule(net, endpoint);
  if (rule == nullptr) {
    Verdict verdict = decide_connect(net, endpoint.name, endpoint.first_port, {});
    if (verdict.allowed) {
      verdict.reason = "the host is connected to end to end, so requests are not judged";
    }
    return verdict;
  }
  if (Verdict by_host = decide_connect(net, endpoint.name, endpoint.first_port, {});
      !by_host.allowed) {
    return by_host;
  }
  const auto denying =
      std::ranges::find_if(rule->deny, [&](const auto& deny) { return denies(deny, request); });
  if (denying != rule->deny.end()) {
    return {false, "[[http]] " + host + " deny " + quote(to_string(*denying)),
            "a deny wins over every allow", "remove the deny where it was written",
            HintRule::Denied};
  }
  const auto allowing =
      std::ranges::find_if(rule->allow, [&](const auto& allow) { return allows(allow, request); });
  if (allowing != rule->allow.end()) {
    return {true,
            "[[http]] " + host + " allow " + quote(to_string(*allowing)),
            rule->secret.empty() ? "the rule covers method and path"
                                 : "the rule covers method and path; the secret " + rule->secret +
                                       " is added outside",
            {},
            {}};
  }
  return {false,
          "[[http]] " + host,
          "the host is reached by requests alone, and no rule allows this one",
          {},
          HintRule::Network};
}

namespace {

enum class EndpointAccess { None, Requests, Connections };  // strictest first

EndpointAccess access_to_endpoint(const NetRules& net, const HostRule& endpoint) {
  const auto takes = [&](const HostRule& rule) { return covers(rule, endpoint); };
  if (net.mode == NetMode::None || std::ranges::any_of(net.deny, takes)) {
    return EndpointAccess::None;
  }
  if (find_http_rule(net, endpoint) != nullptr) return EndpointAccess::Requests;
  if (net.mode == NetMode::Open || std::ranges::any_of(net.allow, takes)) {
    return EndpointAccess::Connections;
  }
  return EndpointAccess::None;
}

void drop_covered(std::vector<RequestPattern>& patterns) {
  std::ranges::sort(patterns);
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  std::vector<RequestPattern> kept;
  for (const RequestPattern& pattern : patterns) {
    const bool covered = std::ranges::any_of(patterns, [&](const RequestPattern& other) {
      return other != pattern && covers(other, pattern);
    });
    if (!covered) kept.push_back(pattern);
  }
  patterns = std::move(kept);
}

using Bound = std::optional<std::uint64_t>;

Bound stricter(const Bound& a, const Bound& b) { return a && b ? std::min(*a, *b) : (a ? a : b); }

void put_in_one_form(HttpRule& rule) {
  drop_covered(rule.allow);
  drop_covered(rule.deny);
  detail::sort_unique(rule.strip);
  std::erase_if(rule.allow, [&](const RequestPattern& pattern) {
    return std::ranges::any_of(rule.deny,
                               [&](const RequestPattern& deny) { return covers(deny, pattern); });
  });
}

HttpRule meet_of_rules(const HttpRule& a, const HttpRule& b) {
  HttpRule both;
  both.host = a.host;
  for (const RequestPattern& left : a.allow) {
    for (const RequestPattern& right : b.allow) {
      if (auto pattern = intersect(left, right)) both.allow.push_back(*std::move(pattern));
    }
  }
  both.deny = a.deny;
  both.deny.insert(both.deny.end(), b.deny.begin(), b.deny.end());
  both.strip = a.strip;
  both.strip.insert(both.strip.end(), b.strip.begin(), b.strip.end());
  both.request_bytes = stricter(a.request_bytes, b.request_bytes);
  both.response_bytes = stricter(a.response_bytes, b.response_bytes);
  both.per_minute = stricter(a.per_minute, b.per_minute);
  both.websocket = a.websocket && b.websocket;
  if (a.secret == b.secret) both.secret = a.secret;
  // What it is called inside widens nothing; of two names any will do, if it is always the same.
  both.base = a.base.empty() || b.base.empty() ? a.base + b.base : std::min(a.base, b.base);
  return both;
}

std::string left_of(const Bound& bound) { return bound ? std::to_string(*bound) : "any"; }

// Patterns of `got` that lie in `asked`, joined; empty: nothing is left.
std::string rest_of(const RequestPattern& asked, const HttpRule& got) {
  std::string rest;
  for (const RequestPattern& pattern : got.allow) {
    if (!covers(asked, pattern)) continue;
    rest.append(rest.empty() ? "" : ", ").append(to_string(pattern));
  }
  return rest;
}

}  // namespace

std::vector<HttpRule> meet_http(const NetRules& a, const NetRules& b) {
  std::vector<HttpRule> result;
  std::set<HostRule> endpoints;
  for (const NetRules* net : {&a, &b})
    for (const HttpRule& rule : net->http) endpoints.insert(rule.host);
  for (const HostRule& endpoint : endpoints) {
    const EndpointAccess of_a = access_to_endpoint(a, endpoint);
    const EndpointAccess of_b = access_to_endpoint(b, endpoint);
    if (std::min(of_a, of_b) != EndpointAccess::Requests) continue;
    const HttpRule* left = of_a == EndpointAccess::Requests ? find_http_rule(a, endpoint) : nullptr;
    const HttpRule* right =
        of_b == EndpointAccess::Requests ? find_http_rule(b, endpoint) : nullptr;
    HttpRule rule = left != nullptr && right != nullptr ? meet_of_rules(*left, *right)
                    : left != nullptr                   ? *left
                                                        : *right;
    put_in_one_form(rule);
    result.push_back(std::move(rule));
  }
  return result;
}

const HostRule* narrowed_to_requests(const HostRule& asked, const NetRules& asked_of,
                                     const NetRules& got) {
  for (const HttpRule& rule : got.http) {
    if (covers(asked, rule.host) && find_http_rule(asked_of, rule.host) == nullptr) {
      return &rule.host;
    }
  }
  return nullptr;
}

void report_http(const Policy& policy, const NetRules& got, std::vector<Reduction>& reductions) {
  using Because = Reduction::Because;
  for (const HttpRule& asked : policy.net.http) {
    const std::string host = to_string(asked.host);
    const HttpRule* left = find_http_rule(got, asked.host);
    const bool denied = std::ranges::any_of(
        policy.net.deny, [&](const HostRule& deny) { return covers(deny, asked.host); });
    const auto is_option = [&](const RequestPattern& pattern) {
      return std::ranges::any_of(policy.options.http, [&](const HttpRule& option) {
        return option.host == asked.host && option.allow.front() == pattern;
      });
    };
    for (const RequestPattern& pattern : asked.allow) {
      const Origin origin = is_option(pattern) ? Origin::Option : Origin::Document;
      const auto takes = [&](const RequestPattern& other) { return covers(other, pattern); };
      // A document may well deny a part of what it allows itself.
      if (origin == Origin::Document && (denied || std::ranges::any_of(asked.deny, takes)))
        continue;
      const bool kept = left != nullptr && std::ranges::any_of(left->allow, takes) &&
                        std::ranges::none_of(left->deny, takes);
      if (kept) continue;
      const std::string rest = left == nullptr ? std::string() : rest_of(pattern, *left);
      const std::string text = pattern.method + " " + host + pattern.path;
      if (rest.empty()) {
        reductions.push_back({"http", text, std::nullopt, Because::OutsideCeiling, origin});
      } else {
        reductions.push_back({"http", text, rest, Because::Narrowed, origin});
      }
    }
    if (left == nullptr) continue;
    const auto narrowed = [&](std::string_view key, std::string was, std::string is) {
      reductions.push_back(
          {"http", host + " " + std::string(key) + " " + was, std::move(is), Because::Narrowed});
    };
    if (asked.request_bytes && left->request_bytes != asked.request_bytes) {
      narrowed("request_bytes", left_of(asked.request_bytes), left_of(left->request_bytes));
    }
    if (asked.response_bytes && left->response_bytes != asked.response_bytes) {
      narrowed("response_bytes", left_of(asked.response_bytes), left_of(left->response_bytes));
    }
    if (asked.per_minute && left->per_minute != asked.per_minute) {
      narrowed("per_minute", left_of(asked.per_minute), left_of(left->per_minute));
    }
    if (left->websocket != asked.websocket) narrowed("websocket", "true", "false");
    if (left->secret != asked.secret && !asked.secret.empty()) {
      reductions.push_back({"secret", asked.secret, std::nullopt, Because::OutsideCeiling});
    }
  }
}

std::string option_for_request(const HostRule& endpoint, const RequestPattern& pattern) {
  const std::string host = endpoint.first_port == kHttpsPort ? endpoint.name : to_string(endpoint);
  return "--http " + shell_word(pattern.method + " " + host + pattern.path);
}

std::uint16_t gate_port(std::size_t place) {
  return static_cast<std::uint16_t>(kFirstGatePort + place);
}

std::string placeholder_of(const SecretRule& secret) { return "cordon-placeholder-" + secret.name; }

std::string budget_of(const SecretRule& secret) {
  return "[[secret]] " + secret.name +
         ": requests = " + std::to_string(secret.requests.value_or(0));
}

std::vector<std::string> budgets_of(const Effective& effective, const HttpRule& rule) {
  std::vector<std::string> budgets;
  const Limits& limits = effective.limits;
  if (limits.requests) budgets.push_back("limits.requests = " + std::to_string(*limits.requests));
  if (limits.request_traffic) {
    budgets.push_back("limits.request_traffic = \"" + format_size(*limits.request_traffic) + "\"");
  }
  const auto secret = std::ranges::find(effective.secrets, rule.secret, &SecretRule::name);
  if (secret != effective.secrets.end() && secret->requests) budgets.push_back(budget_of(*secret));
  return budgets;
}

std::vector<GivenVariable> variables_for_requests(const Effective& effective) {
  std::vector<GivenVariable> variables;
  for (std::size_t i = 0; i < effective.net.http.size(); ++i) {
    const HttpRule& rule = effective.net.http[i];
    const auto known = known_base_variable(rule.host.name);
    if (rule.base.empty() && !known) continue;
    std::string address = "http://127.0.0.1:" + std::to_string(gate_port(i));
    if (rule.base.empty()) address += known->path;
    variables.push_back(
        {rule.base.empty() ? std::string(known->name) : rule.base, std::move(address)});
  }
  for (const SecretRule& secret : effective.secrets) {
    if (!secret.variable.empty()) variables.push_back({secret.variable, placeholder_of(secret)});
  }
  return variables;
}

std::optional<BaseVariable> known_base_variable(std::string_view host) {
  struct Known {
    std::string_view host;
    BaseVariable variable;
  };
  // What each program appends differs: OpenAI's clients expect the version in the address.
  static constexpr std::array kKnown{
      Known{"api.anthropic.com", {"ANTHROPIC_BASE_URL", ""}},
      Known{"api.openai.com", {"OPENAI_BASE_URL", "/v1"}},
      Known{"generativelanguage.googleapis.com", {"GOOGLE_GEMINI_BASE_URL", ""}},
  };
  const auto found = std::ranges::find(kKnown, host, &Known::host);
  if (found == kKnown.end()) return std::nullopt;
  return found->variable;
}

}  // namespace cordon
