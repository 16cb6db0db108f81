// The network of MXC by direction: what may be reached from inside, and what may reach inside.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/decode.h"
#include "config/document_text.h"
#include "config/foreign/mxc_parts.h"
#include "policy/host_rule.h"

namespace cordon {
namespace {

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

HostRule everything(HostRule::Kind kind) {
  HostRule rule;
  rule.kind = kind;
  return rule;
}

HostRule at_ports(HostRule host, const PortRange& ports) {
  host.first_port = ports.first;
  host.last_port = ports.last;
  return host;
}

bool is_loopback_endpoint(const HostRule& endpoint) {
  const std::vector<HostRule> places = mxc_loopback();
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
  for (const HostRule& rule : mxc_loopback()) policy.net.deny.push_back(rule);
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

}  // namespace

std::vector<HostRule> mxc_loopback() {
  HostRule four = everything(HostRule::Kind::Address4);
  four.address = {127};
  four.prefix = 8;
  HostRule six = everything(HostRule::Kind::Address6);
  six.address[15] = 1;
  six.prefix = 128;
  return {four, six};
}

Result<void> read_mxc_directions(MxcDocument& document, const Section& network, Policy& policy) {
  DirectionReader reader(document, network.file());
  CORDON_CHECK(reader.read_egress(network, policy));
  CORDON_CHECK(reader.refuse_ingress(network));
  return reader.read_runtime(policy);
}

}  // namespace cordon
