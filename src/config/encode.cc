// The document a policy would be written as. Reading it back gives the policy again.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "config/policy_document.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using Number = std::optional<std::uint64_t>;

// A document has no unit below K; what lies between is rounded down, so that nothing is widened.
std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kSmallest = 1024;
  return format_size(std::max(kSmallest, bytes - bytes % kSmallest));
}

template <typename Items, typename Spell>
void set_list(Node& table, std::string key, const Items& items, Spell spell) {
  if (items.empty()) return;
  NodeList list;
  list.reserve(items.size());
  for (const auto& item : items) list.emplace_back(std::string(spell(item)));
  table.set(std::move(key), Node(std::move(list)));
}

void set_size(Node& table, std::string key, const Number& bytes) {
  if (bytes) table.set(std::move(key), size_text(*bytes));
}

void set_duration(Node& table, std::string key, const Number& milliseconds) {
  if (milliseconds) table.set(std::move(key), format_duration(*milliseconds));
}

void set_count(Node& table, std::string key, const Number& count) {
  if (count) table.set(std::move(key), Node(*count));
}

std::string path_text(const PathRule& rule) { return rule.text; }

Node encode_fs(const FsRules& fs) {
  Node table;
  set_list(table, "read", fs.read, path_text);
  set_list(table, "write", fs.write, path_text);
  set_list(table, "deny", fs.deny, path_text);
  set_size(table, "scratch", fs.scratch);
  if (fs.home != HomeMode::None) table.set("home", Node(name_of(fs.home)));
  if (fs.caches) table.set("caches", Node(true));
  if (!fs.trust_tracked) table.set("trust_tracked", Node(false));
  if (fs.mode != WriteMode::Live) table.set("mode", Node(name_of(fs.mode)));
  if (fs.stage != StageEnd::Auto) table.set("stage", Node(name_of(fs.stage)));
  return table;
}

Node encode_net(const NetRules& net) {
  const auto spell = [](const HostRule& rule) { return to_string(rule); };
  Node table;
  if (net.mode != NetMode::None) table.set("mode", Node(name_of(net.mode)));
  set_list(table, "allow", net.allow, spell);
  set_list(table, "deny", net.deny, spell);
  set_list(table, "publish", net.publish, [](const PublishRule& rule) { return to_string(rule); });
  set_list(table, "sockets", net.sockets, path_text);
  if (net.ssh_agent) table.set("ssh_agent", Node(true));
  return table;
}

Node encode_http_rule(const HttpRule& rule) {
  const auto spell = [](const RequestPattern& pattern) { return to_string(pattern); };
  Node table;
  table.set("host", Node(to_string(rule.host)));
  set_list(table, "allow", rule.allow, spell);
  set_list(table, "deny", rule.deny, spell);
  set_list(table, "strip", rule.strip, [](const std::string& name) { return name; });
  set_size(table, "request_bytes", rule.request_bytes);
  set_size(table, "response_bytes", rule.response_bytes);
  set_count(table, "per_minute", rule.per_minute);
  if (rule.websocket) table.set("websocket", Node(true));
  if (!rule.secret.empty()) table.set("secret", Node(rule.secret));
  if (!rule.base.empty()) table.set("base", Node(rule.base));
  return table;
}

Node encode_secret(const SecretRule& secret) {
  Node table;
  table.set("name", Node(secret.name)).set("host", Node(to_string(secret.host)));
  switch (secret.kind) {
    case SecretRule::Kind::Header:
      table.set("header", Node(secret.header));
      break;
    case SecretRule::Kind::Basic:
      table.set("basic", Node(secret.user));
      break;
    case SecretRule::Kind::Bearer:
      table.set("bearer", Node(true));
      break;
  }
  table.set("from", Node(secret.from));
  if (!secret.variable.empty()) table.set("variable", Node(secret.variable));
  set_count(table, "requests", secret.requests);
  return table;
}

template <typename Items, typename Encode>
Node encode_tables(const Items& items, Encode encode) {
  NodeList list;
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(encode(item));
  return {std::move(list)};
}

Node encode_env(const EnvRules& env) {
  Node table;
  set_list(table, "pass", env.pass, [](const std::string& name) { return name; });
  if (env.set.empty()) return table;
  Node assignments{NodeMap{}};
  for (const auto& [name, value] : env.set) assignments.set(name, Node(value));
  table.set("set", std::move(assignments));
  return table;
}

Node encode_limits(const Limits& limits) {
  Node table;
  set_duration(table, "wall", limits.wall_ms);
  set_duration(table, "cpu", limits.cpu_ms);
  set_size(table, "memory", limits.memory);
  set_count(table, "pids", limits.pids);
  if (limits.cpus_milli) {
    table.set("cpus", Node(static_cast<double>(*limits.cpus_milli) / 1000));
  }
  set_count(table, "files", limits.files);
  set_size(table, "file_size", limits.file_size);
  set_size(table, "output", limits.output);
  set_size(table, "output_total", limits.output_total);
  set_count(table, "connections", limits.connections);
  set_size(table, "sent", limits.sent);
  set_count(table, "requests", limits.requests);
  set_size(table, "request_traffic", limits.request_traffic);
  return table;
}

Node encode_require(const RequireRules& require) {
  const auto spell = [](Layer layer) { return name_of(layer); };
  Node table;
  set_list(table, "layers", require.layers, spell);
  set_list(table, "accept_missing", require.accept_missing, spell);
  if (require.backends) {
    set_list(table, "backends", *require.backends, [](BackendKind kind) { return name_of(kind); });
  }
  return table;
}

Node encode_agent(const AgentRules& agent) {
  Node table;
  if (!agent.name.empty()) table.set("name", Node(agent.name));
  if (agent.share_login) table.set("share_login", Node(true));
  return table;
}

Node encode_protect(const ProtectRules& protect) {
  const auto name = [](const std::string& text) { return text; };
  Node table;
  set_list(table, "add", protect.add, name);
  set_list(table, "release", protect.release, name);
  return table;
}

}  // namespace

Node encode_ask(const AskRules& ask) {
  Node table;
  set_list(table, "read", ask.read, path_text);
  set_list(table, "write", ask.write, path_text);
  set_list(table, "net", ask.net, [](const HostRule& rule) { return to_string(rule); });
  set_duration(table, "expires", ask.expires_ms);
  return table;
}

Node encode_policy(const Policy& policy) {
  Node document;
  document.set("version", 1);
  const auto add = [&document](const char* name, Node table) {
    if (table.map() != nullptr) document.set(name, std::move(table));
  };
  add("fs", encode_fs(policy.fs));
  add("net", encode_net(policy.net));
  if (!policy.net.http.empty()) {
    document.set("http", encode_tables(policy.net.http, encode_http_rule));
  }
  if (!policy.secrets.empty()) {
    document.set("secret", encode_tables(policy.secrets, encode_secret));
  }
  add("env", encode_env(policy.env));
  add("limits", encode_limits(policy.limits));
  add("require", encode_require(policy.require));
  add("agent", encode_agent(policy.agent));
  add("protect", encode_protect(policy.protect));
  return document;
}

namespace {

// The effective policy in its one canonical form. Its bytes are hashed: equal policies give equal
// bytes whatever the order of their lists, and any difference in what is granted shows.

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
      .set("sockets", sorted(effective.sockets, [](const Grant& grant) { return grant.path; }))
      .set("ssh_agent", Node(net.ssh_agent.has_value()));
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
  // Left out if nobody set them, so that the digest of such a policy stays what it was.
  if (limits.requests) table.set("requests", number(limits.requests));
  if (limits.request_traffic) {
    table.set("request_traffic_bytes", number(limits.request_traffic));
  }
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
  // The same of the rules for requests. Where a secret comes from is the operator's affair.
  if (!effective.net.http.empty()) {
    document.set("http", encode_tables(effective.net.http, encode_http_rule));
  }
  if (!effective.secrets.empty()) {
    document.set("secrets", encode_tables(effective.secrets, [](const SecretRule& secret) {
                   Node table;
                   table.set("name", Node(secret.name))
                       .set("host", Node(to_string(secret.host)))
                       .set("kind", Node(name_of(secret.kind)));
                   if (secret.requests) table.set("requests", number(secret.requests));
                   return table;
                 }));
  }
  return document;
}

}  // namespace cordon
