#include "compat/srt/srt_network.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/decode.h"
#include "config/node.h"
#include "config/section.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 19> kSrtNetworkKeys{"allowedDomains",
                                                           "deniedDomains",
                                                           "deniedDomainReasons",
                                                           "strictAllowlist",
                                                           "deniedResolvedAddresses",
                                                           "allowUnixSockets",
                                                           "allowAllUnixSockets",
                                                           "allowLocalBinding",
                                                           "allowMachLookup",
                                                           "httpProxyPort",
                                                           "socksProxyPort",
                                                           "mitmProxy",
                                                           "tlsTerminate",
                                                           "parentProxy",
                                                           "allowPlaintextHeaderSet",
                                                           "stripResponseHeaders",
                                                           "refuseOpaqueTunnels",
                                                           "requireHostMatch",
                                                           "ambiguousRequestTarget"};
constexpr std::array<std::string_view, 5> kIdleNetworkKeys{
    "deniedDomainReasons", "allowUnixSockets", "allowAllUnixSockets", "allowLocalBinding",
    "allowMachLookup"};
// Each puts something between the command and the network that Cordon does not have.
constexpr std::array<std::string_view, 10> kBetween{
    "httpProxyPort",         "socksProxyPort",      "mitmProxy",
    "tlsTerminate",          "parentProxy",         "allowPlaintextHeaderSet",
    "stripResponseHeaders",  "refuseOpaqueTunnels", "requireHostMatch",
    "ambiguousRequestTarget"};

}  // namespace

Result<void> read_srt_network(const Section& top, ForeignTables& tables, NetRules& net_rules) {
  CORDON_CHECK(require_key(top, "network"));
  CORDON_TRY(net, tables.member(top, "", "network", kSrtNetworkKeys, UnknownKeys::Refused));
  CORDON_CHECK(require_key(net, "allowedDomains"));
  CORDON_CHECK(require_key(net, "deniedDomains"));
  for (const std::string_view key : kBetween) {
    if (const Node* node = net.find(key)) {
      return fail(net.error_at_key(*node, shown(key) + " cannot be held: connections are direct",
                                   "remove it"));
    }
  }
  for (const std::string_view key : kIdleNetworkKeys) {
    if (net.find(key) != nullptr) {
      tables.lose("network." + std::string(key), "it has no meaning for this sandbox");
    }
  }
  CORDON_TRY(strict, net.flag("strictAllowlist"));
  if (strict && !*strict) tables.lose("network.strictAllowlist", "nobody is asked during a run");
  bool nothing = false;
  for (const auto& [key, rules] :
       {std::pair{"allowedDomains", &net_rules.allow}, {"deniedDomains", &net_rules.deny}}) {
    CORDON_TRY(domains, net.texts(key));
    for (const PlacedText& domain : domains) {
      if (*domain.text == "*" && rules == &net_rules.deny) {
        nothing = true;
        continue;
      }
      if (domain.text->starts_with("*:") && rules == &net_rules.deny) {
        for (const std::string_view everywhere : {"0.0.0.0/0", "[::]/0"}) {
          auto rule = parse_host_rule(std::string(everywhere) + domain.text->substr(1));
          if (!rule) return fail(placed(net, *domain.node, std::move(rule).error()));
          rules->push_back(std::move(*rule));
        }
        continue;
      }
      auto rule = parse_domain(*domain.text);
      if (!rule) return fail(placed(net, *domain.node, std::move(rule).error()));
      rules->push_back(std::move(*rule));
    }
  }
  CORDON_TRY(addresses, net.texts("deniedResolvedAddresses"));
  for (const PlacedText& address : addresses) {
    const bool six = address.text->find(':') != std::string::npos;
    const std::size_t slash = std::min(address.text->find('/'), address.text->size());
    auto rule = parse_host_rule(six ? "[" + address.text->substr(0, slash) + "]" +
                                          address.text->substr(slash)
                                    : *address.text);
    if (!rule) return fail(placed(net, *address.node, std::move(rule).error()));
    net_rules.deny.push_back(std::move(*rule));
  }
  if (nothing) net_rules.allow.clear();
  net_rules.mode = net_rules.allow.empty() ? NetAccess(NetMode::None) : NetAccess(NetMode::Allow);
  if (net_rules.mode == NetMode::None) net_rules.deny.clear();
  return {};
}

}  // namespace cordon
