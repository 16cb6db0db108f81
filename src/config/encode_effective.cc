// The effective policy in its one canonical form. Its bytes are hashed: equal policies give equal
// bytes whatever the order of their lists, and any difference in what is granted shows.
#include <algorithm>
#include <set>

#include "config/policy_document.h"
#include "policy/host_rule.h"
#include "policy/publish_rule.h"

namespace cordon {
namespace {

using Number = std::optional<std::uint64_t>;

Node number(const Number& value) { return value ? Node(*value) : Node(nullptr); }

// Sorted and without duplicates.
template <typename Items, typename Spell>
Node sorted(const Items& items, Spell spell) {
  std::set<std::string> texts;
  for (const auto& item : items) texts.insert(std::string(spell(item)));
  NodeList list;
  list.reserve(texts.size());
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

// Anchor and pattern stay apart: a directory may be called "*", and joined to one text it could
// not be told from a pattern.
Node encode_denies(const std::vector<DenyGlob>& denies) {
  std::set<std::pair<std::string, std::string>> rules;
  for (const DenyGlob& deny : denies) rules.emplace(deny.anchor, deny.pattern);
  const auto part = [](const std::string& text) { return text.empty() ? Node() : Node(text); };
  NodeList list;
  list.reserve(rules.size());
  for (const auto& [anchor, pattern] : rules) {
    Node rule;
    rule.set("anchor", part(anchor)).set("pattern", part(pattern));
    list.push_back(std::move(rule));
  }
  return list;
}

Node encode_effective_fs(const Effective& effective) {
  const auto path = [](const Grant& grant) { return grant.path; };
  Node table;
  table.set("read", sorted(effective.read, path))
      .set("write", sorted(effective.write, path))
      .set("deny", encode_denies(effective.deny))
      .set("scratch_bytes", number(effective.scratch))
      .set("home", Node(name_of(effective.home)))
      .set("caches", Node(effective.caches))
      .set("trust_tracked", Node(effective.trust_tracked))
      .set("mode", Node(name_of(effective.mode)))
      .set("stage", Node(name_of(effective.stage)));
  return table;
}

Node encode_effective_net(const Effective& effective) {
  const NetRules& net = effective.net;
  const auto spell = [](const HostRule& rule) { return to_string(rule); };
  Node table;
  table.set("mode", Node(name_of(net.mode)))
      .set("allow", sorted(net.allow, spell))
      .set("deny", sorted(net.deny, spell))
      .set("publish", sorted(net.publish, [](const PublishRule& rule) { return to_string(rule); }))
      .set("sockets", sorted(effective.sockets, [](const Grant& grant) { return grant.path; }));
  return table;
}

Node encode_effective_env(const EnvRules& env) {
  Node assignments{NodeMap{}};
  for (const auto& [name, value] : env.set) assignments.set(name, Node(value));
  Node table;
  table.set("pass", sorted(env.pass, [](const std::string& name) { return name; }))
      .set("set", std::move(assignments));
  return table;
}

Node encode_effective_limits(const Limits& limits) {
  Node table;
  table.set("wall_ms", number(limits.wall_ms))
      .set("cpu_ms", number(limits.cpu_ms))
      .set("memory_bytes", number(limits.memory))
      .set("pids", number(limits.pids))
      .set("cpus_milli", number(limits.cpus_milli))
      .set("files", number(limits.files))
      .set("file_size_bytes", number(limits.file_size))
      .set("output_bytes", number(limits.output))
      .set("output_total_bytes", number(limits.output_total))
      .set("connections", number(limits.connections))
      .set("sent_bytes", number(limits.sent));
  return table;
}

}  // namespace

Node encode_effective(const Effective& effective) {
  const auto layer = [](Layer value) { return name_of(value); };
  Node require;
  require.set("layers", sorted(effective.require, layer))
      .set("accept_missing", sorted(effective.accept_missing, layer));
  if (effective.backends) {
    require.set("backends",
                sorted(*effective.backends, [](BackendKind kind) { return name_of(kind); }));
  }
  Node agent{NodeMap{}};
  const AgentRules& rules = effective.agent;
  agent.set("name", rules.name.empty() ? Node() : Node(rules.name))
      .set("share_login", Node(rules.share_login.has_value()));
  Node document;
  document.set("version", 1)
      .set("fs", encode_effective_fs(effective))
      .set("net", encode_effective_net(effective))
      .set("env", encode_effective_env(effective.env))
      .set("limits", encode_effective_limits(effective.limits))
      .set("require", std::move(require))
      .set("agent", std::move(agent));
  // Left out if nobody changed the table, so that the digest of such a policy stays what it was.
  if (const ProtectRules& protect = effective.protect;
      !protect.add.empty() || !protect.release.empty()) {
    const auto name = [](const std::string& text) { return text; };
    Node table;
    table.set("add", sorted(protect.add, name)).set("release", sorted(protect.release, name));
    document.set("protect", std::move(table));
  }
  return document;
}

}  // namespace cordon
