#include "config/foreign/safeclaw_runtime.h"

#include "base/path.h"
#include "config/foreign/dialects.h"

namespace cordon {
namespace {

Node texts(const std::vector<SafeClawDomain>& domains) {
  NodeList list;
  for (const SafeClawDomain& domain : domains) list.emplace_back(domain.text);
  return list;
}

Node runtime_network(const SafeClawNetwork& network) {
  Node allowed{NodeList{}};
  Node denied{NodeList{}};
  switch (network.reach) {
    case SafeClawNetwork::Reach::Unsaid:
    case SafeClawNetwork::Reach::None:
      break;
    case SafeClawNetwork::Reach::Localhost:
      allowed = NodeList{"localhost"};
      break;
    case SafeClawNetwork::Reach::Domains:
      allowed = texts(network.allowed);
      denied = texts(network.denied);
      break;
  }
  return Node().set("allowedDomains", std::move(allowed)).set("deniedDomains", std::move(denied));
}

}  // namespace

Node to_runtime_config(const SafeClawPolicy& policy, const std::vector<std::string>& credentials) {
  NodeList writable;
  for (const SafeClawRule& rule : policy.allow) {
    // Every layer of that kind has its own devices.
    if (writes(rule.access) && !contains("/dev", rule.path)) writable.emplace_back(rule.path);
  }
  std::vector<std::string> unreadable = credentials;
  NodeList unwritable;
  for (const SafeClawRule& rule : policy.deny) {
    unreadable.push_back(rule.path);
    unwritable.emplace_back(rule.path);
  }
  return Node()
      .set("network", runtime_network(policy.network))
      .set("filesystem", Node()
                             .set("denyRead", text_nodes(unreadable))
                             .set("allowWrite", std::move(writable))
                             .set("denyWrite", std::move(unwritable)));
}

}  // namespace cordon
