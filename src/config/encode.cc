// The document a policy would be written as. Reading it back gives the policy again.
#include <algorithm>

#include "base/text.h"
#include "config/policy_document.h"
#include "policy/host_rule.h"
#include "policy/publish_rule.h"

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
  return table;
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
  add("env", encode_env(policy.env));
  add("limits", encode_limits(policy.limits));
  add("require", encode_require(policy.require));
  add("agent", encode_agent(policy.agent));
  add("protect", encode_protect(policy.protect));
  return document;
}

}  // namespace cordon
