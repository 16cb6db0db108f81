#include <algorithm>
#include <map>

#include "base/path.h"
#include "config/document_text.h"
#include "config/foreign/dialects.h"
#include "policy/host_rule.h"

namespace cordon {
namespace {

// Nothing if the entry is a word that stands for many places.
Result<std::optional<std::string>> plain_path(Exporter& out, const PathRule& rule,
                                              const std::string& key) {
  const std::string& text = rule.text;
  if (text == "@system" || text == "@toolchains") {
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
    } else if (rule.text == "@system" || rule.text == "@toolchains") {
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
