#include "compat/mxc/mxc_read.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "compat/mxc/mxc_document.h"
#include "config/decode.h"
#include "config/node.h"
#include "policy/environment.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr MxcVersion kOldest{0, 4};
constexpr MxcVersion kNewest{1, 1};
constexpr MxcVersion kFirstExact{0, 9};
constexpr std::array<std::string_view, 3> kExact{"0.9.0-alpha", "1.0.0", "1.1.0-alpha"};
constexpr std::uint64_t kMostMinor = 1000;

// MAJOR.MINOR.PATCH, then anything that a pre-release or build text may hold.
std::optional<MxcVersion> parse_semver(std::string_view text) {
  const std::string_view core = text.substr(0, text.find_first_of("-+"));
  const auto parts = split(core, '.');
  if (parts.size() != 3) return std::nullopt;
  std::array<std::uint64_t, 3> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_number(parts[i]);
    const bool padded = parts[i].size() > 1 && parts[i].front() == '0';
    if (!number || padded || *number > kMostMinor) return std::nullopt;
    numbers[i] = *number;
  }
  const std::string_view rest = text.substr(core.size());
  const bool plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '+';
  });
  if (!plain || rest == "-" || rest == "+") return std::nullopt;
  return MxcVersion{static_cast<unsigned>(numbers[0]), static_cast<unsigned>(numbers[1])};
}

}  // namespace

Result<MxcVersion> parse_mxc_version(std::string_view text) {
  const auto version = parse_semver(text);
  if (!version) {
    return fail(policy_error(shown(text) + " is not a version", "write it as \"0.6.0-alpha\""));
  }
  if (*version < kOldest) {
    return fail(policy_error("version " + shown(text) + " is older than 0.4, the oldest known"));
  }
  if (*version > kNewest) {
    return fail(policy_error("version " + shown(text) + " is newer than 1.1, the newest known"));
  }
  if (*version >= kFirstExact && std::find(kExact.begin(), kExact.end(), text) == kExact.end()) {
    return fail(policy_error("unknown version " + shown(text),
                             "from 0.9 on it is 0.9.0-alpha, 1.0.0 or 1.1.0-alpha exactly"));
  }
  return *version;
}

namespace {

// Stands for the private /tmp that every sandbox of MXC has.
constexpr std::uint64_t kScratch = 1ULL << 30U;

Result<void> withhold_read_only(MxcDocument& document, const Places& places, FsRules& fs) {
  std::vector<PathRule> writable;
  for (const PathRule& rule : fs.write) {
    bool covered = false;
    for (const PathRule& read : fs.read) {
      CORDON_TRY(inside, lies_in(read.text, rule.text, places));
      covered = covered || inside;
    }
    if (!covered) {
      writable.push_back(rule);
      continue;
    }
    document.tables.lose("filesystem.readwritePaths",
                         shown(rule.text) + " lies in a read-only path, which wins before 0.8");
  }
  fs.write = std::move(writable);
  return {};
}

// Whether some of it, or what it lies in, is in a sandbox without any rule.
bool is_of_every_sandbox(const std::string& real) {
  constexpr std::array<std::string_view, 13> kPlaces{
      "/usr",     "/bin",       "/sbin", "/lib",  "/lib64", "/etc", "/run",
      "/var/lib", "/var/cache", "/opt",  "/proc", "/sys",   "/dev"};
  return std::ranges::any_of(kPlaces, [&](std::string_view place) {
    return contains(place, real) || contains(real, place);
  });
}

// A deny of a policy wins over every grant, so one around a grant would close it. Where no grant
// lies around the deny it is left out: what no list names is not there, and nothing else comes into
// view.
Result<void> open_inside_denies(MxcDocument& document, const Places& places, FsRules& fs) {
  std::vector<PathRule> kept;
  for (PathRule& deny : fs.deny) {
    CORDON_TRY(place, places.real(deny.text));
    bool around = is_of_every_sandbox(place);
    std::vector<std::string> inside;
    for (const auto* rules : {&fs.read, &fs.write}) {
      for (const PathRule& rule : *rules) {
        CORDON_TRY(grant, places.real(rule.text));
        around = around || contains(grant, place);
        if (grant != place && contains(place, grant)) inside.push_back(rule.text);
      }
    }
    if (!inside.empty() && !around) continue;
    for (const std::string& path : inside) {
      document.tables.lose("filesystem.deniedPaths",
                           shown(path) + " lies in the denied " + shown(deny.text) +
                               ", which lies in a granted path: it stays closed");
    }
    kept.push_back(std::move(deny));
  }
  fs.deny = std::move(kept);
  return {};
}

}  // namespace

Result<void> read_mxc_filesystem(MxcDocument& document, const Places& places, Policy& policy) {
  CORDON_TRY(fs, document.member(document.top, mxc_table::kFilesystem));
  struct List {
    std::string_view key;
    std::string_view wish;
    std::vector<PathRule>& rules;
  };
  for (const List& list : {List{"readonlyPaths", "read", policy.fs.read},
                           List{"readwritePaths", "write", policy.fs.write},
                           List{"deniedPaths", "deny", policy.fs.deny}}) {
    CORDON_TRY(entries, fs.texts(list.key));
    for (const PlacedText& entry : entries) {
      if (entry.text->find('"') != std::string::npos) {
        return fail(fs.error_at(*entry.node, "path " + shown(*entry.text) + " holds a quote"));
      }
      CORDON_TRY(rule, literal_path(fs, entry, list.wish));
      list.rules.push_back(std::move(rule));
    }
  }
  // Before 0.8 the lists were applied one after another, so a denied or read-only parent covered a
  // writable child; since then the longer path decides.
  if (document.version.at_least(0, 8)) {
    CORDON_CHECK(open_inside_denies(document, places, policy.fs));
  } else {
    const std::string_view lists = "filesystem.readwritePaths";
    CORDON_CHECK(withhold_denied(policy.fs.deny, places, "filesystem.readonlyPaths", policy.fs.read,
                                 document.tables));
    CORDON_CHECK(withhold_denied(policy.fs.deny, places, lists, policy.fs.write, document.tables));
    CORDON_CHECK(withhold_read_only(document, places, policy.fs));
  }
  policy.fs.scratch = kScratch;
  return {};
}

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

namespace {

// The network of MXC by direction: what may be reached from inside, and what may reach inside.

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

namespace {

constexpr std::array<std::string_view, 5> kSections{"lxc", "processContainer", "appContainer",
                                                    "seatbelt", "macos_sandbox"};
constexpr std::array<std::string_view, 4> kClipboard{"none", "read", "write", "all"};

constexpr std::uint64_t kLeastOldTimeout = 500;
// What a process sandbox of MXC sets where a document says nothing.
constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kTerm = "xterm-256color";

Result<MxcVersion> read_version(const Node& document, const std::string& file) {
  const Node* node = document.find("version");
  if (node == nullptr || std::holds_alternative<std::nullptr_t>(node->value)) return MxcVersion{};
  const auto refuse = [&](Error error) {
    error.place = Place{file, node->line, node->column};
    return fail(std::move(error));
  };
  if (node->text() == nullptr) return refuse(policy_error("\"version\" must be a string"));
  auto version = parse_mxc_version(*node->text());
  if (!version) return refuse(std::move(version).error());
  return *version;
}

Result<void> read_containment(const Section& top, MxcRequest& request) {
  request.containment = "process";
  CORDON_TRY(word, top.text("containment"));
  if (word) request.containment = *word->text;
  if (request.containment != "process" && request.containment != "bubblewrap") {
    Error error = top.error_at(*word->node,
                               "containment " + shown(request.containment) +
                                   " cannot be held by a process sandbox on Linux",
                               "write \"process\" or \"bubblewrap\"");
    error.kind = ErrorKind::Unsupported;
    return fail(std::move(error));
  }
  for (const std::string_view section : kSections) {
    const Node* node = top.find(section);
    if (node == nullptr) continue;
    return fail(top.error_at_key(
        *node, shown(section) + " does not belong to containment " + shown(request.containment),
        "remove it"));
  }
  return {};
}

Result<void> read_variable(MxcDocument& document, const Section& process, const PlacedText& entry,
                           Policy& policy) {
  const std::size_t equals = entry.text->find('=');
  if (equals == std::string::npos) {
    document.tables.lose("process.env", shown(*entry.text) + " has no \"=\" and is ignored");
    return {};
  }
  const std::string name = entry.text->substr(0, equals);
  const std::string value = entry.text->substr(equals + 1);
  if (!is_valid_variable_name(name)) {
    return fail(process.error_at(*entry.node, shown(name) + " is not a variable name"));
  }
  if (is_loader_variable(name)) {
    return fail(process.error_at(*entry.node,
                                 shown(name) + " is refused: it makes the loader run foreign code",
                                 "remove it"));
  }
  if (value.find('\0') != std::string::npos) {
    return fail(process.error_at(*entry.node, "the value of " + shown(name) + " holds a NUL byte"));
  }
  policy.env.set[name] = value;  // the last one counts
  return {};
}

Result<void> read_environment(MxcDocument& document, const Section& process, Policy& policy) {
  CORDON_TRY(flag, process.flag("inheritDefaultEnv"));
  bool inherit = flag == true;
  if (flag && !document.version.at_least(0, 9)) {
    if (document.nested() == UnknownKeys::Refused) {
      return fail(process.error_at_key(*process.find("inheritDefaultEnv"),
                                       "\"inheritDefaultEnv\" came with version 0.9"));
    }
    document.tables.lose("process.inheritDefaultEnv", "it came with version 0.9");
    inherit = false;
  }
  // A sandbox of Cordon always has a PATH. A shell that is given none uses this very one.
  policy.env.set["PATH"] = kPath;
  const bool listed = process.find("env") != nullptr;
  if (document.version.at_least(0, 9) && (!listed || inherit)) {
    policy.env.set["TERM"] = kTerm;
  }
  CORDON_TRY(entries, process.texts("env"));
  for (const PlacedText& entry : entries) {
    CORDON_CHECK(read_variable(document, process, entry, policy));
  }
  return {};
}

Result<void> read_timeout(const MxcDocument& document, const Section& process, Policy& policy) {
  CORDON_TRY(timeout, whole(process, "timeout", kMostTimeout));
  if (!timeout || *timeout == 0) return {};
  if (!document.version.at_least(0, 8) && *timeout < kLeastOldTimeout) {
    return fail(process.error_at(*process.find("timeout"),
                                 "\"timeout\" is below 500 ms, the least of this version"));
  }
  policy.limits.wall_ms = *timeout;
  return {};
}

// Nothing of a desktop is ever inside, so what these grant is lost and what they withhold holds.
Result<void> read_ui(MxcDocument& document) {
  CORDON_TRY(ui, document.member(document.top, mxc_table::kUi));
  CORDON_TRY(disable, ui.flag("disable"));
  CORDON_TRY(clipboard, ui.text("clipboard"));
  // Before 0.8 any word was taken.
  if (document.version.at_least(0, 8)) CORDON_CHECK(one_of(ui, "clipboard", kClipboard));
  CORDON_TRY(injection, ui.flag("injection"));
  const std::string reason = "no display, clipboard or input device is inside a sandbox";
  if (disable && !*disable) document.tables.lose("ui.disable", reason);
  if (clipboard && *clipboard->text != "none") document.tables.lose("ui.clipboard", reason);
  if (injection && *injection) document.tables.lose("ui.injection", reason);
  return {};
}

Result<void> read_remarks(MxcDocument& document, MxcRequest& request) {
  ForeignTables& tables = document.tables;
  CORDON_TRY(id, document.top.text("containerId"));
  if (id) {
    request.container_id = *id->text;
    if (!id->text->empty()) tables.lose("containerId", "a run has an identity of its own");
  }
  CORDON_TRY(lifecycle, document.member(document.top, mxc_table::kLifecycle));
  CORDON_TRY(destroy, lifecycle.flag("destroyOnExit"));
  CORDON_TRY(preserve, lifecycle.flag("preservePolicy"));
  const std::string ends = "nothing of a sandbox outlives its run";
  if (destroy && !*destroy) tables.lose("lifecycle.destroyOnExit", ends);
  if (preserve && *preserve) tables.lose("lifecycle.preservePolicy", ends);
  CORDON_TRY(fallback, document.member(document.top, mxc_table::kFallback));
  CORDON_TRY(mutation, fallback.flag("allowDaclMutation"));
  if (mutation && *mutation) {
    tables.lose("fallback.allowDaclMutation", "permissions of the host's files are never changed");
  }
  for (const std::string_view key : {"experimental", "telemetry"}) {
    const Node* node = document.top.find(key);
    if (node == nullptr) continue;
    if (node->map() == nullptr) {
      return fail(document.top.error_at(*node, shown(key) + " must be a table"));
    }
    if (!node->map()->empty()) tables.lose(std::string(key), "it has no meaning for this sandbox");
  }
  return read_ui(document);
}

// These belong to requests with a phase.
Result<void> refuse_phases(const Section& top) {
  for (const std::string_view key : {"phase", "sandboxId", "correlationVector"}) {
    if (const Node* node = top.find(key)) {
      return fail(top.error_at_key(
          *node, shown(key) + " does not belong to a request that runs one command"));
    }
  }
  return {};
}

}  // namespace

Result<void> read_mxc_process(MxcDocument& document, MxcRequest& request) {
  CORDON_CHECK(require_key(document.top, "process"));
  CORDON_TRY(process, document.member(document.top, mxc_table::kProcess));
  CORDON_TRY(command, process.text("commandLine"));
  if (!command || command->text->empty()) {
    return fail(process.error_at(command ? *command->node : process.node(),
                                 "\"commandLine\" in [process] must not be empty"));
  }
  if (command->text->find('\0') != std::string::npos) {
    return fail(process.error_at(*command->node, "\"commandLine\" in [process] holds a NUL byte"));
  }
  request.command_line = *command->text;
  CORDON_TRY(cwd, process.text("cwd"));
  if (cwd && !cwd->text->empty()) {
    CORDON_CHECK(literal_path(process, *cwd, "read"));
    request.cwd = *cwd->text;
  }
  CORDON_CHECK(read_environment(document, process, request.policy));
  return read_timeout(document, process, request.policy);
}

Result<MxcRequest> read_mxc_request(const Node& node, const std::string& file,
                                    const Places& places) {
  CORDON_CHECK(refuse_keychain(node, file));
  MxcRequest request;
  CORDON_TRY(version, read_version(node, file));
  request.version = version;
  ForeignTables tables(file, !version.at_least(0, 9));
  CORDON_TRY(top,
             tables.open(node, "", mxc_table::kTop.keys,
                         version.at_least(0, 7) ? UnknownKeys::Refused : UnknownKeys::Ignored));
  MxcDocument document{tables, top, version};
  request.policy.name = file;
  request.policy.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                   Layer::Capabilities};
  CORDON_CHECK(refuse_phases(top));
  CORDON_CHECK(read_containment(top, request));
  CORDON_CHECK(read_mxc_process(document, request));
  CORDON_CHECK(read_mxc_filesystem(document, places, request.policy));
  CORDON_CHECK(read_mxc_network(document, request.policy));
  CORDON_CHECK(read_remarks(document, request));
  request.losses = std::move(tables).take_losses();
  return request;
}

}  // namespace cordon
