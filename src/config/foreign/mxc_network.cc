#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/decode.h"
#include "config/document_text.h"
#include "config/foreign/mxc_parts.h"
#include "policy/host_rule.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 6> kLegacyKeys{"defaultPolicy",     "enforcementMode",
                                                      "allowedHosts",      "blockedHosts",
                                                      "allowLocalNetwork", "proxy"};
constexpr std::array<std::string_view, 2> kDefaults{"allow", "block"};
constexpr std::array<std::string_view, 3> kModes{"capabilities", "firewall", "both"};

// A name, an address or a range, with every port; no wildcard, which MXC does not know.
Result<std::vector<HostRule>> read_hosts(const Section& network, std::string_view key) {
  std::vector<HostRule> rules;
  CORDON_TRY(entries, network.texts(key));
  for (const PlacedText& entry : entries) {
    const bool bare_ipv6 =
        entry.text->find(':') != entry.text->rfind(':') && !entry.text->starts_with('[');
    std::string text = *entry.text;
    if (bare_ipv6) {
      const std::size_t slash = std::min(text.find('/'), text.size());
      text = "[" + text.substr(0, slash) + "]" + text.substr(slash);
    }
    auto rule = parse_host_rule(text);
    if (!rule) return fail(placed(network, *entry.node, std::move(rule).error()));
    const bool every_port = rule->first_port == 1 && rule->last_port == kHighestPort;
    if (!every_port || rule->kind == HostRule::Kind::Subdomains) {
      return fail(network.error_at(*entry.node,
                                   shown(*entry.text) + " is not a name, an address or a range",
                                   "this list knows no ports and no wildcards"));
    }
    rules.push_back(std::move(*rule));
  }
  return rules;
}

std::vector<HostRule> with_loopback(std::vector<HostRule> rules) {
  for (const HostRule& rule : mxc_loopback()) rules.push_back(rule);
  return rules;
}

bool has_legacy(const Section& network) {
  return std::any_of(kLegacyKeys.begin(), kLegacyKeys.end(),
                     [&](std::string_view key) { return network.find(key) != nullptr; });
}

Result<void> check_era(const MxcDocument& document, const Section& network) {
  const bool directions = network.find("egress") != nullptr || network.find("ingress") != nullptr ||
                          document.top.find("runtimeConfig") != nullptr;
  const auto place = [&]() -> const Node& {
    for (const std::string_view key : {"egress", "ingress"}) {
      if (const Node* node = network.find(key)) return *node;
    }
    return *document.top.find("runtimeConfig");
  };
  if (directions && !document.version.at_least(0, 8)) {
    return fail(network.error_at_key(place(), "rules by direction came with version 0.8"));
  }
  if (directions && has_legacy(network)) {
    return fail(network.error_at_key(
        place(), "rules by direction stand beside \"defaultPolicy\" or its companions",
        "use one of the two forms"));
  }
  if (!document.version.at_least(0, 9)) return {};
  for (const std::string_view key : kLegacyKeys) {
    if (const Node* node = network.find(key)) {
      return fail(network.error_at_key(*node, shown(key) + " ended with version 0.8",
                                       "use \"egress\" and \"ingress\""));
    }
  }
  return {};
}

Result<void> read_proxy(MxcDocument& document, const Section& network, Policy& policy) {
  CORDON_TRY(proxy, document.member(network, mxc_table::kProxy));
  CORDON_TRY(port, whole(proxy, "localhost", kHighestPort));
  CORDON_TRY(url, proxy.text("url"));
  CORDON_TRY(test_server, proxy.flag("builtinTestServer"));
  const Node& at = *network.find("proxy");
  if (test_server && *test_server) {
    return fail(network.error_at_key(at, "\"builtinTestServer\" is for tests of MXC itself",
                                     "name a proxy by \"localhost\" or \"url\""));
  }
  if (port.has_value() == url.has_value() || port == std::uint64_t{0}) {
    return fail(network.error_at_key(at, "\"proxy\" needs one of \"localhost\" and \"url\""));
  }
  for (const std::string_view key : {"allowedHosts", "blockedHosts"}) {
    if (const Node* list = network.find(key);
        list != nullptr && list->list() != nullptr && !list->list()->empty()) {
      return fail(network.error_at_key(*list, shown(key) + " cannot stand beside \"proxy\""));
    }
  }
  const std::string text = url ? *url->text : "http://127.0.0.1:" + std::to_string(*port);
  auto endpoint = parse_proxy_url(text);
  if (!endpoint) return fail(placed(network, at, std::move(endpoint).error()));
  go_through_proxy(text, *endpoint, policy);
  return {};
}

Result<void> read_legacy(MxcDocument& document, const Section& network, Policy& policy) {
  CORDON_TRY(word, one_of(network, "defaultPolicy", kDefaults));
  CORDON_TRY(mode, one_of(network, "enforcementMode", kModes));
  CORDON_TRY(local, network.flag("allowLocalNetwork"));
  CORDON_TRY(allowed, read_hosts(network, "allowedHosts"));
  CORDON_TRY(blocked, read_hosts(network, "blockedHosts"));
  const bool open = word && *word == "allow";
  if (mode) {
    document.tables.lose("network.enforcementMode", "rules are always enforced, in one way");
  }
  if (local && *local) {
    document.tables.lose("network.allowLocalNetwork",
                         "what listens inside is reached from inside alone");
  }
  if (network.find("proxy") != nullptr) {
    if (!open) {
      return fail(
          network.error_at_key(*network.find("proxy"), "\"proxy\" needs defaultPolicy \"allow\""));
    }
    if (mode && *mode != "capabilities") {
      return fail(network.error_at_key(
          *network.find("proxy"),
          "\"proxy\" cannot stand beside \"enforcementMode\" " + shown(*mode)));
    }
    return read_proxy(document, network, policy);
  }
  // What the host's loopback offers is not for a sandbox that says so. With the host's own network
  // that cannot be held, and MXC's own executors refuse it.
  const bool closed = local && !*local;
  if (closed && open && allowed.empty()) {
    Error error = network.error_at_key(
        *network.find("allowLocalNetwork"),
        "\"allowLocalNetwork\" false cannot be held with defaultPolicy \"allow\": the network is "
        "the host's own, its loopback included",
        "name what is to be reached in \"allowedHosts\", or write \"block\"");
    error.kind = ErrorKind::Unsupported;
    return fail(std::move(error));
  }
  if (closed) blocked = with_loopback(std::move(blocked));
  // An allow list is meant as one, whatever the default says: MXC itself opens the network then.
  if (!allowed.empty()) {
    policy.net = {NetMode::Allow, std::move(allowed), std::move(blocked)};
    if (open) document.tables.lose("network.defaultPolicy", "only \"allowedHosts\" are reached");
    return {};
  }
  const NetAccess access = open ? NetAccess(share_the_hosts_network()) : NetAccess();
  policy.net = {access, {}, std::move(blocked)};
  return {};
}

}  // namespace

Result<HostRule> parse_proxy_url(std::string_view url) {
  const Error bad = policy_error(shown(url) + " is not the URL of a proxy",
                                 "write http://HOST:PORT, without credentials and path");
  std::string_view rest = url;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  if (rest.size() == url.size()) return fail(bad);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/@?#*") != std::string_view::npos) return fail(bad);
  auto rule = parse_host_rule(rest);
  if (!rule || rule->first_port != rule->last_port) return fail(bad);
  return rule;
}

void go_through_proxy(const std::string& url, const HostRule& endpoint, Policy& policy) {
  policy.net = {NetMode::Allow, {endpoint}, {}};
  for (const char* name :
       {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}) {
    policy.env.set[name] = url;
  }
}

Result<void> read_mxc_network(MxcDocument& document, Policy& policy) {
  CORDON_TRY(network, document.member(document.top, mxc_table::kNetwork));
  CORDON_CHECK(check_era(document, network));
  if (has_legacy(network)) return read_legacy(document, network, policy);
  if (document.version.at_least(0, 8)) return read_mxc_directions(document, network, policy);
  return {};
}

}  // namespace cordon
