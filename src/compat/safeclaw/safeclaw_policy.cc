#include "compat/safeclaw/safeclaw_policy.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 5> kSafeClawTopKeys{"filesystem", "syscalls", "network",
                                                           "namespaces", "timeoutMs"};
constexpr std::array<std::string_view, 2> kFilesystemKeys{"allow", "deny"};
constexpr std::array<std::string_view, 2> kRuleKeys{"path", "access"};
constexpr std::array<std::string_view, 2> kSyscallKeys{"allow", "defaultDeny"};
constexpr std::array<std::string_view, 4> kNamespaceKeys{"pid", "net", "mnt", "user"};
constexpr std::array<std::string_view, 2> kSafeClawNetworkKeys{"allowedDomains", "deniedDomains"};
constexpr std::array<std::string_view, 2> kNetworkWords{"none", "localhost"};
// In the order of SafeClawAccess.
constexpr std::array<std::string_view, 5> kAccesses{"read", "execute", "write", "readwrite",
                                                    "readwriteexecute"};

Place place_of(const Section& section, const Node& node) {
  return {section.file(), node.line, node.column};
}

Result<const NodeList*> bounded_list(const Section& table, std::string_view key, std::size_t most) {
  const Node* node = table.find(key);
  if (node == nullptr) return nullptr;
  if (node->list() == nullptr) {
    return fail(table.error_at(*node, table.title(key) + " must be a list"));
  }
  if (node->list()->size() > most) {
    return fail(table.error_at(
        *node, table.title(key) + " holds more than " + std::to_string(most) + " entries"));
  }
  return node->list();
}

Result<void> check_path(const Section& rule, const PlacedText& path) {
  const std::string& text = *path.text;
  if (!text.starts_with('/')) {
    return fail(rule.error_at(*path.node, "path " + shown(text) + " is not absolute",
                              "write the whole path"));
  }
  // The kernel would end the path at a NUL and open another one.
  if (text.find('\0') != std::string::npos) {
    return fail(rule.error_at(*path.node, "path " + shown(text) + " holds a NUL byte"));
  }
  if (text.size() > kSafeClawLongestPath) {
    return fail(rule.error_at(*path.node, "path " + shown(text) + " is longer than " +
                                              std::to_string(kSafeClawLongestPath) + " bytes"));
  }
  return {};
}

enum class AccessKey { Needed, Optional };  // a deny without one denies everything

Result<SafeClawRule> decode_rule(const Section& rule, AccessKey key) {
  CORDON_TRY(path, rule.text("path"));
  CORDON_TRY(word, one_of(rule, "access", kAccesses));
  if (!path) return fail(rule.error_at(rule.node(), "a rule needs \"path\" and \"access\""));
  if (!word && key == AccessKey::Needed) {
    return fail(rule.error_at(rule.node(), "a rule needs \"path\" and \"access\""));
  }
  CORDON_CHECK(check_path(rule, *path));
  const std::string_view access = word ? std::string_view(*word) : kAccesses.back();
  const auto* at = std::find(kAccesses.begin(), kAccesses.end(), access);
  return SafeClawRule{*path->text, static_cast<SafeClawAccess>(at - kAccesses.begin()),
                      place_of(rule, *path->node)};
}

Result<std::vector<SafeClawRule>> decode_rules(const Section& filesystem, std::string_view key,
                                               std::size_t most, AccessKey access) {
  std::vector<SafeClawRule> rules;
  CORDON_TRY(nodes, bounded_list(filesystem, key, most));
  if (nodes == nullptr) return rules;
  for (const Node& node : *nodes) {
    CORDON_TRY(section,
               Section::open(node, filesystem.file(), "filesystem." + std::string(key), kRuleKeys));
    CORDON_TRY(rule, decode_rule(section, access));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::vector<std::string>> decode_calls(const Section& top) {
  CORDON_TRY(table, top.member("syscalls", kSyscallKeys));
  CORDON_TRY(deny, table.flag("defaultDeny"));
  if (deny && !*deny) {
    return fail(table.error_at(*table.find("defaultDeny"), "\"defaultDeny\" can only be true"));
  }
  CORDON_CHECK(bounded_list(table, "allow", kSafeClawMostSyscalls));
  CORDON_TRY(names, table.texts("allow"));
  std::vector<std::string> calls;
  for (const PlacedText& name : names) {
    const bool plain = std::all_of(name.text->begin(), name.text->end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (name.text->empty() || !plain || name.text->size() > kSafeClawLongestSyscall) {
      return fail(table.error_at(*name.node, shown(*name.text) + " is no system call"));
    }
    calls.push_back(*name.text);
  }
  return calls;
}

Result<SafeClawNetwork> decode_network(const Section& top) {
  SafeClawNetwork network;
  const Node* node = top.find("network");
  if (node == nullptr) return network;
  if (node->text() != nullptr) {
    CORDON_TRY(word, one_of(top, "network", kNetworkWords));
    network.reach = *word == "none" ? SafeClawNetwork::Reach::None  //
                                    : SafeClawNetwork::Reach::Localhost;
    return network;
  }
  CORDON_TRY(table, top.member("network", kSafeClawNetworkKeys));
  network.reach = SafeClawNetwork::Reach::Domains;
  for (const auto& [key, list] : {std::pair{"allowedDomains", &network.allowed},
                                  std::pair{"deniedDomains", &network.denied}}) {
    CORDON_TRY(domains, table.texts(key));
    for (const PlacedText& domain : domains) {
      list->push_back({*domain.text, place_of(table, *domain.node)});
    }
  }
  return network;
}

Node encode_rules(const std::vector<SafeClawRule>& rules) {
  NodeList list;
  for (const SafeClawRule& rule : rules) {
    list.push_back(Node().set("path", rule.path).set("access", name_of(rule.access)));
  }
  return list;
}

template <typename Texts, typename Text>
Node encode_texts(const Texts& texts, Text text) {
  NodeList list;
  for (const auto& element : texts) list.emplace_back(text(element));
  return list;
}

Node encode_safeclaw_network(const SafeClawNetwork& network) {
  if (network.reach != SafeClawNetwork::Reach::Domains) {
    return network.reach == SafeClawNetwork::Reach::Localhost ? "localhost" : "none";
  }
  const auto text = [](const SafeClawDomain& domain) { return domain.text; };
  return Node()
      .set("allowedDomains", encode_texts(network.allowed, text))
      .set("deniedDomains", encode_texts(network.denied, text));
}

}  // namespace

std::string_view name_of(SafeClawAccess access) {
  return kAccesses[static_cast<std::size_t>(access)];
}

bool writes(SafeClawAccess access) {
  return access != SafeClawAccess::Read && access != SafeClawAccess::Execute;
}

bool executes(SafeClawAccess access) {
  return access == SafeClawAccess::Execute || access == SafeClawAccess::ReadWriteExecute;
}

Result<SafeClawPolicy> decode_safeclaw(const Node& document, const std::string& file) {
  SafeClawPolicy policy;
  CORDON_TRY(top, Section::open(document, file, "", kSafeClawTopKeys));
  CORDON_CHECK(require_key(top, "filesystem"));
  CORDON_CHECK(require_key(top, "syscalls"));
  CORDON_TRY(filesystem, top.member("filesystem", kFilesystemKeys));
  CORDON_TRY(allow, decode_rules(filesystem, "allow", kSafeClawMostAllow, AccessKey::Needed));
  CORDON_TRY(deny, decode_rules(filesystem, "deny", kSafeClawMostDeny, AccessKey::Optional));
  CORDON_TRY(calls, decode_calls(top));
  CORDON_TRY(network, decode_network(top));
  CORDON_TRY(namespaces, top.member("namespaces", kNamespaceKeys));
  for (const std::string_view key : kNamespaceKeys) {
    CORDON_TRY(on, namespaces.flag(key));
    if (on && !*on) policy.shared_namespaces.emplace_back(key);
  }
  CORDON_TRY(timeout, whole(top, "timeoutMs", kSafeClawMostTimeout));
  if (timeout && *timeout > 0) policy.timeout_ms = timeout;
  policy.allow = std::move(allow);
  policy.deny = std::move(deny);
  policy.syscalls = std::move(calls);
  policy.network = std::move(network);
  return policy;
}

Node encode_safeclaw(const SafeClawPolicy& policy) {
  Node document;
  document
      .set("filesystem",
           Node().set("allow", encode_rules(policy.allow)).set("deny", encode_rules(policy.deny)))
      .set("syscalls", Node()
                           .set("allow", encode_texts(policy.syscalls,
                                                      [](const std::string& name) { return name; }))
                           .set("defaultDeny", true));
  if (policy.network.reach != SafeClawNetwork::Reach::Unsaid) {
    document.set("network", encode_safeclaw_network(policy.network));
  }
  Node namespaces;
  for (const std::string_view key : kNamespaceKeys) {
    const auto& shared = policy.shared_namespaces;
    namespaces.set(std::string(key), std::find(shared.begin(), shared.end(), key) == shared.end());
  }
  document.set("namespaces", std::move(namespaces));
  if (policy.timeout_ms) document.set("timeoutMs", Node(*policy.timeout_ms));
  return document;
}

}  // namespace cordon
