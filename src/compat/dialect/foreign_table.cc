#include "compat/dialect/foreign_table.h"

#include <algorithm>
#include <map>

#include "base/path.h"
#include "config/decode.h"
#include "config/node.h"
#include "config/section.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

bool is_null(const Node& node) { return std::holds_alternative<std::nullptr_t>(node.value); }

std::string path_of(std::string_view table, std::string_view key) {
  return table.empty() ? std::string(key) : std::string(table).append(".").append(key);
}

}  // namespace

Result<Section> ForeignTables::open(const Node& table, std::string_view name,
                                    std::span<const std::string_view> keys, UnknownKeys unknown) {
  Node& cleaned = cleaned_.emplace_back(table);
  if (auto* members = std::get_if<NodeMap>(&cleaned.value)) {
    std::erase_if(*members, [&](const auto& member) {
      if (null_is_absent_ && is_null(member.second)) return true;
      if (unknown == UnknownKeys::Refused) return false;
      if (std::find(keys.begin(), keys.end(), member.first) != keys.end()) return false;
      lose(path_of(name, member.first),
           "unknown to this version of the document, which ignores it");
      return true;
    });
  }
  return Section::open(cleaned, *file_, name, keys);
}

Result<Section> ForeignTables::member(const Section& parent, std::string_view parent_name,
                                      std::string_view key, std::span<const std::string_view> keys,
                                      UnknownKeys unknown) {
  static const Node kAbsent{NodeMap{}};
  const Node* node = parent.find(key);
  return open(node == nullptr ? kAbsent : *node, path_of(parent_name, key), keys, unknown);
}

Result<void> refuse_keychain(const Node& node, const std::string& file) {
  if (const NodeList* list = node.list()) {
    for (const Node& element : *list) CORDON_CHECK(refuse_keychain(element, file));
  }
  const NodeMap* members = node.map();
  if (members == nullptr) return {};
  for (const auto& [key, value] : *members) {
    const bool* on = std::get_if<bool>(&value.value);
    if (key == "keychainAccess" && on != nullptr && *on) {
      return fail(document_error(file, {value.key_line, value.key_column},
                                 "\"keychainAccess\" is never granted",
                                 "remove it: no policy reaches the keychain"));
    }
    CORDON_CHECK(refuse_keychain(value, file));
  }
  return {};
}

Result<void> require_key(const Section& section, std::string_view key) {
  if (section.find(key) != nullptr) return {};
  return fail(section.error_at(section.node(), "missing key \"" + std::string(key) + "\""));
}

Result<std::optional<std::string>> one_of(const Section& section, std::string_view key,
                                          std::span<const std::string_view> choices) {
  CORDON_TRY(word, section.text(key));
  if (!word) return std::nullopt;
  if (std::find(choices.begin(), choices.end(), *word->text) != choices.end()) return *word->text;
  std::string hint = "write one of";
  for (const std::string_view choice : choices) hint.append(" \"").append(choice).append("\"");
  return fail(section.error_at(*word->node,
                               shown(*word->text) + " is not a value of " + section.title(key),
                               std::move(hint)));
}

Result<std::optional<std::uint64_t>> whole(const Section& section, std::string_view key,
                                           std::uint64_t most) {
  const Node* node = section.find(key);
  if (node == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&node->value);
  if (number == nullptr || *number < 0 || static_cast<std::uint64_t>(*number) > most) {
    return fail(section.error_at(
        *node, section.title(key) + " must be a whole number from 0 to " + std::to_string(most)));
  }
  return static_cast<std::uint64_t>(*number);
}

Result<PathRule> literal_path(const std::string& path, std::string_view wish) {
  const PathUse use = wish == "write"  ? PathUse::Write
                      : wish == "deny" ? PathUse::Deny
                                       : PathUse::Read;
  if (!path.starts_with('/')) {
    return fail(policy_error("path " + shown(path) + " is not absolute", "write the whole path"));
  }
  CORDON_CHECK(check_path_entry(path, use));
  if (use == PathUse::Deny && is_glob(path)) {
    return fail(policy_error("denied path " + shown(path) + " holds a wildcard character",
                             "a policy would take it for a pattern: deny its directory"));
  }
  return PathRule{path, {}};
}

Result<PathRule> literal_path(const Section& section, const PlacedText& entry,
                              std::string_view wish) {
  auto rule = literal_path(*entry.text, wish);
  if (!rule) return fail(placed(section, *entry.node, std::move(rule).error()));
  return rule;
}

Result<void> withhold_denied(const std::vector<PathRule>& denies, const Places& places,
                             std::string_view key, std::vector<PathRule>& rules,
                             ForeignTables& tables) {
  std::vector<PathRule> kept;
  for (PathRule& rule : rules) {
    bool denied = false;
    for (const PathRule& deny : denies) {
      CORDON_TRY(inside, lies_in(deny.text, rule.text, places));
      denied = denied || inside;
    }
    if (denied) {
      tables.lose(std::string(key), shown(rule.text) + " lies in a denied path");
    } else {
      kept.push_back(std::move(rule));
    }
  }
  rules = std::move(kept);
  return {};
}

Result<bool> lies_in(const std::string& root, const std::string& path, const Places& places) {
  CORDON_TRY(outer, places.real(root));
  CORDON_TRY(inner, places.real(path));
  return contains(outer, inner);
}

namespace {

bool is_group(const std::string& text) {
  return text == "@system" || text == "@toolchains" || text == "@caches" || text == "@repo";
}

// Nothing if the entry is a word that stands for many places.
Result<std::optional<std::string>> plain_path(Exporter& out, const PathRule& rule,
                                              const std::string& key) {
  const std::string& text = rule.text;
  if (is_group(text)) {
    out.lose(key, shown(text) + " stands for what a host has and is left out");
    return std::nullopt;
  }
  if (text.starts_with('/')) return normalize(text);
  std::string path;
  if (text == "@cwd") {
    path = out.places.cwd;
  } else if (text == "~" || text.starts_with("~/")) {
    if (out.places.home.empty()) return fail(policy_error("there is no home for " + shown(text)));
    path = out.places.home + text.substr(1);
  } else {
    if (rule.base.empty()) return fail(policy_error("path " + shown(text) + " is relative"));
    path = join(rule.base, text);
  }
  path = normalize(path);
  out.lose(key, shown(text) + " is written out as " + shown(path));
  return path;
}

Result<void> plain_list(Exporter& out, const std::vector<PathRule>& rules, const std::string& key,
                        std::vector<std::string>& paths) {
  for (const PathRule& rule : rules) {
    CORDON_TRY(path, plain_path(out, rule, key));
    if (path) paths.push_back(std::move(*path));
  }
  return {};
}

bool is_pattern(const std::string& text) {
  const bool place = text.starts_with('~') || text.starts_with('@');
  return is_glob(text) || (text.find('/') == std::string::npos && !place);
}

bool one_address(const HostRule& rule) {
  return (rule.kind == HostRule::Kind::Address4 && rule.prefix == 32) ||
         (rule.kind == HostRule::Kind::Address6 && rule.prefix == 128);
}

// A domain has one port or all of them, and no ranges of addresses.
bool is_domain(const HostRule& rule) {
  const bool range = rule.kind == HostRule::Kind::Address4 || rule.kind == HostRule::Kind::Address6;
  const bool ports =
      rule.first_port == rule.last_port || (rule.first_port == 1 && rule.last_port == kHighestPort);
  return ports && (!range || one_address(rule));
}

}  // namespace

Result<PlainPaths> plain_paths(Exporter& out) {
  PlainPaths paths;
  const FsRules& fs = out.policy.fs;
  CORDON_CHECK(plain_list(out, fs.read, "fs.read", paths.read));
  CORDON_CHECK(plain_list(out, fs.write, "fs.write", paths.write));
  std::vector<PathRule> literal;
  for (const PathRule& rule : fs.deny) {
    if (is_pattern(rule.text)) {
      out.restrictions.give_up("fs.deny", shown(rule.text) + " is a pattern");
    } else if (is_group(rule.text)) {
      out.restrictions.give_up("fs.deny", shown(rule.text) + " stands for many places");
    } else {
      literal.push_back(rule);
    }
  }
  CORDON_CHECK(plain_list(out, literal, "fs.deny", paths.deny));
  // What was written out may hold the wildcards of the directory it was written out below.
  for (const std::string& path : paths.deny) {
    if (is_glob(path)) return fail(policy_error("path " + shown(path) + " holds a wildcard"));
  }
  return paths;
}

void give_up_limits(Exporter& out, bool wall) {
  const Limits& limits = out.policy.limits;
  const auto give_up = [&](const char* name, const std::optional<std::uint64_t>& limit) {
    if (limit) out.restrictions.give_up(std::string("limits.") + name, "there is no such limit");
  };
  if (!wall) give_up("wall", limits.wall_ms);
  give_up("cpu", limits.cpu_ms);
  give_up("memory", limits.memory);
  give_up("pids", limits.pids);
  give_up("cpus", limits.cpus_milli);
  give_up("files", limits.files);
  give_up("file_size", limits.file_size);
  give_up("output_total", limits.output_total);
  if (out.policy.net.mode == NetMode::Allow) {
    give_up("connections", limits.connections);
    give_up("sent", limits.sent);
    give_up("requests", limits.requests);
    give_up("request_traffic", limits.request_traffic);
  }
  if (limits.output) out.lose("limits.output", "how much is captured is for the caller to say");
}

void lose_what_is_ours(Exporter& out) {
  if (out.policy.fs.mode == WriteMode::Staged) {
    out.restrictions.give_up("fs.mode", "what is written is written at once");
  }
  if (out.policy.fs.home != HomeMode::None) out.lose("fs.home", "there is no private home");
  if (out.policy.fs.caches) out.lose("fs.caches", "there are no private caches");
  if (out.policy.agent.share_login) out.lose("agent.share_login", "there is no private home");
  if (out.policy.net.ssh_agent)
    out.lose("net.ssh_agent", "there is no filter of the agent's requests");
  for (const HttpRule& rule : out.policy.net.http) {
    const auto takes = [&](const HostRule& host) { return covers(host, rule.host); };
    const std::string host = shown(to_string(rule.host));
    if (std::ranges::any_of(out.policy.net.allow, takes)) {
      out.restrictions.give_up("http", "requests to " + host + " are not judged");
    } else {
      out.lose("http", host + " is reached by requests that Cordon judges");
    }
  }
  if (!out.policy.net.sockets.empty()) {
    out.lose("net.sockets", "local sockets of the host are not listed by what they are");
  }
  if (!out.policy.require.layers.empty()) {
    out.lose("require.layers", "a document of this kind does not name mechanisms");
  }
}

Node text_nodes(const std::vector<std::string>& texts) {
  NodeList list;
  list.reserve(texts.size());
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

Domains to_domains(Exporter& out) {
  Domains domains;
  const NetRules& net = out.policy.net;
  if (!net.publish.empty()) out.lose("net.publish", "nothing inside can be reached from the host");
  if (net.mode == NetMode::Open) out.lose("net.mode", "a list of domains cannot name every host");
  if (net.mode != NetMode::Allow) return domains;
  for (const HostRule& rule : net.allow) {
    if (is_domain(rule)) {
      domains.allowed.push_back(to_string(rule));
    } else {
      out.lose("net.allow", shown(to_string(rule)) + " is no domain with one port or all");
    }
  }
  for (const HostRule& rule : net.deny) {
    if (is_domain(rule)) {
      domains.denied.push_back(to_string(rule));
    } else if (!domains.allowed.empty()) {
      out.restrictions.give_up("net.deny", shown(to_string(rule)) + " is no domain");
    }
  }
  return domains;
}

Result<HostRule> parse_domain(std::string_view text) {
  CORDON_TRY(rule, parse_host_rule(text));
  if (!is_domain(rule) || text.find('/') != std::string_view::npos) {
    return fail(policy_error(shown(text) + " is not a domain", "write NAME, NAME:PORT or *.NAME"));
  }
  return rule;
}

}  // namespace cordon
