// HTTP rules: what a request has to look like to be sent, and what two sets of rules share. A rule
// is about one endpoint, a name with a port. There a policy permits nothing, the requests of its
// rule, or connections; the strictest of all that count holds, so that a ceiling's rule takes a
// connection away and a caller's rule takes requests away. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/request_path.h"
#include "cordon/policy.h"
#include "policy/decide.h"

namespace cordon {

// True if whatever `inner` matches, `outer` matches too.
bool covers(const RequestPattern& outer, const RequestPattern& inner);
// What both match; nothing if they share nothing.
std::optional<RequestPattern> intersect(const RequestPattern& a, const RequestPattern& b);

// The rule of that endpoint; null if it has none.
const HttpRule* find_http_rule(const NetRules& net, std::string_view host, std::uint16_t port);
const HttpRule* find_http_rule(const NetRules& net, const HostRule& endpoint);
// Whether some host is reached by requests alone, so that a run needs a gate.
bool judges_requests(const NetRules& net);
// Adds what may be asked of an endpoint, to its rule if there is one.
void allow_request(NetRules& net, const HostRule& endpoint, RequestPattern pattern);

// Whether a request would be sent.
struct AskedRequest {
  std::string method;
  HostRule endpoint;
  RequestPath path;
};
// By its method and its URL, as `policy explain request` takes them.
Result<AskedRequest> parse_asked_request(std::string_view method, std::string_view url);
Verdict decide_request(const NetRules& net, const AskedRequest& request);

// The rules of both for the endpoints that either has rules for, in their one form. Endpoints are
// judged with the modes, allows and denies of both.
std::vector<HttpRule> meet_http(const NetRules& a, const NetRules& b);

// What of the rules that were asked for is left in `got`, and of the hosts that are now reached by
// requests alone; `what` is "http", "secret" or "allow". `because` and `origin` as in a reduction.
void report_http(const Policy& policy, const NetRules& got, std::vector<Reduction>& reductions);
// Whether a host that was to be connected to is reached by requests alone: the endpoint.
const HostRule* narrowed_to_requests(const HostRule& asked, const NetRules& asked_of,
                                     const NetRules& got);

// "METHOD HOST[:PORT]/PATH", as the option --http takes it.
struct AllowedRequest {
  HostRule endpoint;
  RequestPattern pattern;
};
Result<AllowedRequest> parse_allowed_request(std::string_view text);

// "--http 'POST api.example.com/v1/messages'"
std::string option_for_request(const HostRule& endpoint, const RequestPattern& pattern);

// Where the rule with that place in the list is reached inside: a port of 127.0.0.1.
inline constexpr std::uint16_t kFirstGatePort = 61100;
inline constexpr std::size_t kMostHttpRules = 256;
std::uint16_t gate_port(std::size_t place);

// What a sandbox gets beside its policy's variables: the addresses of the rules that programs are
// told of, and what stands for secrets.
struct GivenVariable {
  std::string name;
  std::string value;
};
std::vector<GivenVariable> variables_for_requests(const Effective& effective);
// Worthless anywhere else, and the same in every run.
std::string placeholder_of(const SecretRule& secret);
// How many requests may carry it, in words: "[[secret]] example-key: requests = 40".
std::string budget_of(const SecretRule& secret);
// The budgets of a run that a request by this rule takes from, as a policy says them.
std::vector<std::string> budgets_of(const Effective& effective, const HttpRule& rule);

// Where programs look for another address of a host they know: the variable, and what is appended
// to the address. Nothing for a host without one.
struct BaseVariable {
  std::string_view name;
  std::string_view path;
};
std::optional<BaseVariable> known_base_variable(std::string_view host);

}  // namespace cordon
