// The table [net] of a document.
#include <algorithm>
#include <array>

#include "config/decode.h"
#include "config/node.h"
#include "config/section.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 7> kNetKeys{"mode",    "allow",   "deny",     "host_ports",
                                                   "publish", "sockets", "ssh_agent"};
constexpr std::array<std::string_view, 3> kModeNames{"none", "allow", "open"};

Result<std::optional<NetMode>> decode_mode(const Section& net) {
  CORDON_TRY(word, net.text("mode"));
  if (!word) return std::nullopt;
  for (const NetMode mode : {NetMode::None, NetMode::Allow, NetMode::Open}) {
    if (*word->text == name_of(mode)) return mode;
  }
  std::string hint = suggestion(*word->text, kModeNames);
  if (hint.empty()) hint = "write \"none\", \"allow\" or \"open\"";
  return fail(
      net.error_at(*word->node, shown(*word->text) + " is not a network mode", std::move(hint)));
}

// Ports of the host's loopback: short for rules with the name "localhost".
Result<std::vector<HostRule>> decode_host_ports(const Section& net) {
  std::vector<HostRule> rules;
  const Node* ports = net.find("host_ports");
  if (ports == nullptr) return rules;
  const auto wrong = [&](const Node& node) {
    return fail(net.error_at(node, net.title("host_ports") + " is a list of ports, 1 to 65535",
                             "write host_ports = [5432]"));
  };
  if (ports->list() == nullptr) return wrong(*ports);
  for (const Node& node : *ports->list()) {
    const auto* port = std::get_if<std::int64_t>(&node.value);
    if (port == nullptr || *port < 1 || *port > 65535) return wrong(node);
    HostRule rule;
    rule.name = "localhost";
    rule.first_port = static_cast<std::uint16_t>(*port);
    rule.last_port = rule.first_port;
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::vector<PublishRule>> decode_publish(const Section& net, std::optional<NetMode> mode) {
  std::vector<PublishRule> rules;
  CORDON_TRY(entries, net.texts("publish"));
  if (!entries.empty() && mode == NetMode::Open) {
    return fail(net.error_at_key(*net.find("publish"),
                                 net.title("publish") + " contradicts mode \"open\"",
                                 "remove the list: the command listens on the host's network"));
  }
  for (const PlacedText& entry : entries) {
    auto rule = parse_publish_rule(*entry.text);
    if (!rule) return fail(placed(net, *entry.node, std::move(rule).error()));
    rules.push_back(*rule);
  }
  return rules;
}

Error contradiction(const Section& net, NetMode mode) {
  const std::string word(name_of(mode));
  const std::string_view key = net.find("host_ports") != nullptr ? "host_ports" : "allow";
  return net.error_at_key(*net.find(key), net.title(key) + " contradicts mode \"" + word + "\"",
                          mode == NetMode::None
                              ? "write mode = \"allow\", or remove the list"
                              : "write mode = \"allow\": open permits every host");
}

}  // namespace

Result<std::vector<HostRule>> decode_rules(const Section& section, std::string_view key) {
  std::vector<HostRule> rules;
  CORDON_TRY(entries, section.texts(key));
  for (const PlacedText& entry : entries) {
    auto rule = parse_host_rule(*entry.text);
    if (!rule) return fail(placed(section, *entry.node, std::move(rule).error()));
    rules.push_back(std::move(*rule));
  }
  return rules;
}

Result<void> decode_net(const Section& document, const std::string& base, NetRules& net) {
  CORDON_TRY(section, document.member("net", kNetKeys));
  CORDON_TRY(mode, decode_mode(section));
  CORDON_TRY(allow, decode_rules(section, "allow"));
  CORDON_TRY(deny, decode_rules(section, "deny"));
  CORDON_TRY(host_ports, decode_host_ports(section));
  allow.insert(allow.end(), host_ports.begin(), host_ports.end());
  if (!allow.empty() && mode && *mode != NetMode::Allow) {
    return fail(contradiction(section, *mode));
  }
  if (!allow.empty()) mode = NetMode::Allow;
  CORDON_TRY(publish, decode_publish(section, mode));
  if (mode) net.mode = access_of(*mode);
  // The list of a preset has no meaning under another mode; kept, it would come back to life.
  if (net.mode != NetMode::Allow) {
    net.allow.clear();
    net.http.clear();
  }
  net.allow.insert(net.allow.end(), allow.begin(), allow.end());
  net.deny.insert(net.deny.end(), deny.begin(), deny.end());
  net.publish.insert(net.publish.end(), publish.begin(), publish.end());
  CORDON_TRY(agent, section.flag("ssh_agent"));
  if (agent)
    net.ssh_agent = *agent ? std::optional(sign_with_the_persons_ssh_keys()) : std::nullopt;
  return append_paths(section, "sockets", PathUse::Socket, base, net.sockets);
}

}  // namespace cordon
