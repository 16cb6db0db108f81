#include "compat/mxc/mxc_network.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/decode.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

HostRule everything(HostRule::Kind kind) {
  HostRule rule;
  rule.kind = kind;
  return rule;
}

// The addresses of a host's own loopback.
std::vector<HostRule> loopback_addresses() {
  HostRule four = everything(HostRule::Kind::Address4);
  four.address = {127};
  four.prefix = 8;
  HostRule six = everything(HostRule::Kind::Address6);
  six.address[15] = 1;
  six.prefix = 128;
  return {four, six};
}

// The endpoint of "http://host:port"; nothing for anything else.
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

// Only `endpoint` can be reached, and programs are told so by the usual variables.
void go_through_proxy(const std::string& url, const HostRule& endpoint, Policy& policy) {
  policy.net = {NetMode::Allow, {endpoint}, {}};
  for (const char* name :
       {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}) {
    policy.env.set[name] = url;
  }
}

// One word and lists of hosts.

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
  for (const HostRule& rule : loopback_addresses()) rules.push_back(rule);
  return rules;
}

bool has_legacy(const Section& network) {
  return std::any_of(kLegacyKeys.begin(), kLegacyKeys.end(),
                     [&](std::string_view key) { return network.find(key) != nullptr; });
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

// By direction: what may be reached from inside, and what may reach inside.

constexpr std::array<std::string_view, 2> kWords{"allow", "deny"};
constexpr std::array<std::string_view, 4> kProtocols{"tcp", "udp", "icmp", "any"};

struct PortRange {
  std::uint16_t first = 1;
  std::uint16_t last = kHighestPort;
  bool tcp = true;     // TCP is among what the rule names
  bool others = true;  // something else is
};

struct Rule {
  std::vector<HostRule> hosts;
  std::vector<HostRule> except;
  std::vector<PortRange> ports;
  const Node* node = nullptr;
};

class DirectionReader {
 public:
  DirectionReader(MxcDocument& document, const std::string& file)
      : document_(document), file_(file) {}

  Result<void> read_egress(const Section& network, Policy& policy);
  Result<void> refuse_ingress(const Section& network);
  Result<void> read_runtime(Policy& policy);

 private:
  Result<std::vector<Rule>> rules(const Section& egress, std::string_view key);
  Result<Rule> rule(const Node& node, const std::string& name);
  Result<void> targets(const Node& list, const std::string& name, Rule& rule);
  Result<PortRange> port(const Node& node, const std::string& name);
  Result<HostRule> range(const Section& section, const PlacedText& text);
  Error at(const Node& node, std::string what) const {
    return document_error(file_, {node.line, node.column}, std::move(what));
  }

  MxcDocument& document_;
  const std::string& file_;
};

HostRule at_ports(HostRule host, const PortRange& ports) {
  host.first_port = ports.first;
  host.last_port = ports.last;
  return host;
}

bool is_loopback_endpoint(const HostRule& endpoint) {
  const std::vector<HostRule> places = loopback_addresses();
  return endpoint.name == "localhost" ||
         std::any_of(places.begin(), places.end(),
                     [&](const HostRule& place) { return covers(place, endpoint); });
}

Result<HostRule> DirectionReader::range(const Section& section, const PlacedText& text) {
  const std::size_t slash = std::min(text.text->find('/'), text.text->size());
  std::string spelled = *text.text;
  if (spelled.find(':') != std::string::npos) {
    spelled = "[" + spelled.substr(0, slash) + "]" + spelled.substr(slash);
  }
  auto parsed = parse_host_rule(spelled);
  if (!parsed) return fail(placed(section, *text.node, std::move(parsed).error()));
  const bool address =
      parsed->kind == HostRule::Kind::Address4 || parsed->kind == HostRule::Kind::Address6;
  if (!address || parsed->first_port != 1 || parsed->last_port != kHighestPort) {
    return fail(section.error_at(*text.node, shown(*text.text) + " is not a range of addresses"));
  }
  return *parsed;
}

Result<void> DirectionReader::targets(const Node& list, const std::string& name, Rule& rule) {
  if (list.list() == nullptr || list.list()->empty()) {
    return fail(at(list, "\"to\" must be a list that is not empty"));
  }
  for (const Node& target : *list.list()) {
    CORDON_TRY(section, document_.element(target, name + ".to", mxc_table::kTo));
    CORDON_TRY(cidr, section.text("cidr"));
    if (!cidr) return fail(section.error_at(section.node(), "missing key \"cidr\""));
    CORDON_TRY(host, range(section, *cidr));
    rule.hosts.push_back(host);
    CORDON_TRY(except, section.texts("except"));
    for (const PlacedText& text : except) {
      CORDON_TRY(hole, range(section, text));
      rule.except.push_back(hole);
    }
  }
  return {};
}

Result<PortRange> DirectionReader::port(const Node& node, const std::string& name) {
  CORDON_TRY(section, document_.element(node, name + ".ports", mxc_table::kPort));
  CORDON_TRY(protocol, one_of(section, "protocol", kProtocols));
  CORDON_TRY(first, whole(section, "port", kHighestPort));
  CORDON_TRY(last, whole(section, "endPort", kHighestPort));
  PortRange ports;
  if (protocol) {
    ports.tcp = *protocol == "tcp" || *protocol == "any";
    ports.others = *protocol != "tcp";
  }
  if (last && !first) return fail(at(node, "\"endPort\" needs \"port\""));
  if (first) {
    ports.first = static_cast<std::uint16_t>(*first);
    ports.last = static_cast<std::uint16_t>(last.value_or(*first));
    if (ports.first == 0 || ports.last < ports.first) return fail(at(node, "no such ports"));
  }
  return ports;
}

Result<Rule> DirectionReader::rule(const Node& node, const std::string& name) {
  CORDON_TRY(section, document_.element(node, name, mxc_table::kRule));
  Rule rule;
  rule.node = &node;
  if (const Node* to = section.find("to")) {
    CORDON_CHECK(targets(*to, name, rule));
  } else {
    rule.hosts = {everything(HostRule::Kind::Address4), everything(HostRule::Kind::Address6)};
  }
  const Node* list = section.find("ports");
  if (list == nullptr) {
    rule.ports.push_back({});
    return rule;
  }
  if (list->list() == nullptr || list->list()->empty()) {
    return fail(at(*list, "\"ports\" must be a list that is not empty"));
  }
  for (const Node& element : *list->list()) {
    CORDON_TRY(ports, port(element, name));
    rule.ports.push_back(ports);
  }
  return rule;
}

Result<std::vector<Rule>> DirectionReader::rules(const Section& egress, std::string_view key) {
  std::vector<Rule> found;
  const Node* list = egress.find(key);
  if (list == nullptr) return found;
  if (list->list() == nullptr) return fail(at(*list, shown(key) + " must be a list"));
  for (const Node& element : *list->list()) {
    CORDON_TRY(read, rule(element, "network.egress." + std::string(key)));
    found.push_back(std::move(read));
  }
  return found;
}

Result<void> DirectionReader::read_egress(const Section& network, Policy& policy) {
  CORDON_TRY(egress, document_.member(network, mxc_table::kEgress));
  CORDON_TRY(word, one_of(egress, "default", kWords));
  CORDON_TRY(allow, rules(egress, "allow"));
  CORDON_TRY(deny, rules(egress, "deny"));
  const bool open = word && *word == "allow";
  if (!open && allow.empty()) return {};
  policy.net.mode = NetMode::Allow;
  const auto lose_others = [&] {
    document_.tables.lose("network.egress.allow", "only TCP leaves a sandbox");
  };
  if (open) {
    policy.net.allow = {everything(HostRule::Kind::Address4), everything(HostRule::Kind::Address6)};
    lose_others();
    document_.tables.lose("network.egress.default",
                          "addresses are reached; names are not, since no rule lists them");
  }
  bool others = false;
  for (const Rule& rule : allow) {
    for (const PortRange& ports : rule.ports) {
      others = others || ports.others;
      if (!ports.tcp || open) continue;
      for (const HostRule& host : rule.hosts) policy.net.allow.push_back(at_ports(host, ports));
    }
    // A deny beats every allow, so the holes of one rule are holes in all of them.
    policy.net.deny.insert(policy.net.deny.end(), rule.except.begin(), rule.except.end());
  }
  if (others && !open) lose_others();
  for (const Rule& rule : deny) {
    for (const PortRange& ports : rule.ports) {
      if (!ports.tcp) continue;
      for (const HostRule& host : rule.hosts) policy.net.deny.push_back(at_ports(host, ports));
    }
    if (!rule.except.empty()) {
      document_.tables.lose("network.egress.deny", "a deny has no exceptions: all of it is denied");
    }
  }
  // The host's loopback is its own switch there, and it is off.
  for (const HostRule& rule : loopback_addresses()) policy.net.deny.push_back(rule);
  return {};
}

Result<void> DirectionReader::refuse_ingress(const Section& network) {
  CORDON_TRY(ingress, document_.member(network, mxc_table::kIngress));
  for (const std::string_view key : mxc_table::kIngress.keys) {
    CORDON_TRY(word, one_of(ingress, key, kWords));
    if (word && *word == "allow") {
      return fail(
          ingress.error_at(*ingress.find(key), "\"" + std::string(key) +
                                                   "\" in [network.ingress] cannot be "
                                                   "held: nothing outside reaches into a sandbox"));
    }
  }
  return {};
}

Result<void> DirectionReader::read_runtime(Policy& policy) {
  CORDON_TRY(runtime, document_.member(document_.top, mxc_table::kRuntime));
  CORDON_TRY(url, runtime.text("networkProxy"));
  if (!url) return {};
  if (policy.net.mode != NetMode::None) {
    return fail(runtime.error_at(*url->node, "\"networkProxy\" needs egress that denies all"));
  }
  auto endpoint = parse_proxy_url(*url->text);
  if (!endpoint) return fail(placed(runtime, *url->node, std::move(endpoint).error()));
  if (!is_loopback_endpoint(*endpoint)) {
    return fail(runtime.error_at(*url->node, "\"networkProxy\" must be on this host's loopback"));
  }
  go_through_proxy(*url->text, *endpoint, policy);
  return {};
}

// egress, ingress and runtimeConfig.
Result<void> read_directions(MxcDocument& document, const Section& network, Policy& policy) {
  DirectionReader reader(document, network.file());
  CORDON_CHECK(reader.read_egress(network, policy));
  CORDON_CHECK(reader.refuse_ingress(network));
  return reader.read_runtime(policy);
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

}  // namespace

Result<void> read_mxc_network(MxcDocument& document, Policy& policy) {
  CORDON_TRY(network, document.member(document.top, mxc_table::kNetwork));
  CORDON_CHECK(check_era(document, network));
  if (has_legacy(network)) return read_legacy(document, network, policy);
  if (document.version.at_least(0, 8)) return read_directions(document, network, policy);
  return {};
}

}  // namespace cordon
