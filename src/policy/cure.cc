#include "policy/cure.h"

#include <algorithm>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using Texts = std::vector<std::string>;

// The environment form is the one ceiling that no document holds.
bool is_of_environment(const Ceiling& ceiling) {
  return ceiling.policy.file.empty() && ceiling.id == "environment";
}

constexpr const char* kOnlyInAFile =
    "use a ceiling file in place of the CORDON_SANDBOX_... variables, which cannot permit it";

// A string as TOML and JSON both spell it.
std::string spelled(std::string_view text) {
  std::string out = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') out += '\\';
    out += byte;
  }
  return out + "\"";
}

std::string spelled(const Texts& texts) {
  std::string out = "[";
  for (const std::string& text : texts)
    out.append(out.size() > 1 ? ", " : "").append(spelled(text));
  return out + "]";
}

struct Entry {
  std::string_view key;
  std::string value;  // as both languages spell it
};

// All entries of one table of a ceiling's document.
std::string in_document(const Ceiling& ceiling, std::string_view table,
                        const std::vector<Entry>& entries) {
  const bool json = ceiling.id.ends_with(".json");
  std::string text =
      json ? "in \"" + std::string(table) + "\" of " : "below [" + std::string(table) + "] in ";
  text += quote(ceiling.id) + ": ";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) text += " and ";
    text +=
        json ? "\"" + std::string(entries[i].key) + "\": " : std::string(entries[i].key) + " = ";
    text += entries[i].value;
  }
  return text;
}

// What is to be added to a list of a ceiling's document.
std::string added_in_document(const Ceiling& ceiling, std::string_view table, std::string_view key,
                              std::span<const HostRule> added) {
  std::string text;
  for (const HostRule& rule : added)
    text.append(text.empty() ? "add " : ", ").append(spelled(to_string(rule)));
  const std::string quoted = "\"" + std::string(key) + "\" in \"" + std::string(table) + "\" of ";
  const std::string plain = std::string(key) + " below [" + std::string(table) + "] in ";
  return text + " to " + (ceiling.id.ends_with(".json") ? quoted : plain) + quote(ceiling.id);
}

std::string variable(std::string_view suffix, const std::string& value) {
  return "set CORDON_SANDBOX_" + std::string(suffix) + "=" + quote(value);
}

std::string variable(std::string_view suffix, const Texts& paths) {
  std::string value;
  for (const std::string& path : paths) value.append(value.empty() ? "" : ":").append(path);
  return variable(suffix, value);
}

Texts texts_of(const std::vector<PathRule>& rules) {
  Texts texts;
  for (const PathRule& rule : rules) texts.push_back(rule.text);
  return texts;
}

// What is left of a ceiling's read list once nothing in it lies at or below `path`.
Texts without(const ResolvedCeiling& ceiling, const std::string& path) {
  Texts kept = texts_of(ceiling.ceiling.policy.fs.read);
  for (const Grant& grant : ceiling.read) {
    if (!is_baseline(grant) && contains(path, grant.path)) std::erase(kept, grant.written);
  }
  return kept;
}

}  // namespace

std::string title_of(const Ceiling& ceiling) {
  if (is_of_environment(ceiling)) return "the ceiling of the environment (CORDON_SANDBOX_...)";
  return ceiling.id.empty() ? "a ceiling" : "the ceiling " + quote(ceiling.id);
}

std::string cure_for_path(const ResolvedCeiling& ceiling, const std::string& path, PathMode mode) {
  const Policy& most = ceiling.ceiling.policy;
  Texts read = texts_of(most.fs.read);
  Texts write = texts_of(most.fs.write);
  const auto is_there = [&](const Grant& grant) { return grant.path == path; };
  const bool writes = mode == PathMode::Write;
  if (writes) read = without(ceiling, path);
  auto& list = writes ? write : read;
  if (std::ranges::none_of(writes ? ceiling.write : ceiling.read, is_there)) list.push_back(path);
  const bool read_changes = read != texts_of(most.fs.read);
  const bool write_changes = write != texts_of(most.fs.write);
  if (is_of_environment(ceiling.ceiling)) {
    std::string text;
    if (write_changes) text = variable("READWRITE_PATHS", write);
    if (read_changes)
      text.append(text.empty() ? "" : " and ").append(variable("READONLY_PATHS", read));
    return text;
  }
  std::vector<Entry> entries;
  if (read_changes) entries.push_back({"read", spelled(read)});
  if (write_changes) entries.push_back({"write", spelled(write)});
  return in_document(ceiling.ceiling, "fs", entries);
}

std::string cure_for_group(const Ceiling& ceiling, std::string_view group) {
  if (is_of_environment(ceiling))
    return "use a ceiling file: the variables cannot name " + std::string(group);
  Texts read = texts_of(ceiling.policy.fs.read);
  read.emplace_back(group);
  return in_document(ceiling, "fs", {{"read", spelled(read)}});
}

std::string cure_for_hosts(const Ceiling& ceiling, std::span<const HostRule> hosts) {
  // Nobody types a list of a thousand hosts anew.
  constexpr std::size_t kMostRepeated = 16;
  if (is_of_environment(ceiling)) return variable("NETWORK", std::string("allow"));
  const NetRules& net = ceiling.policy.net;
  if (net.mode == NetMode::Allow && net.allow.size() > kMostRepeated) {
    return added_in_document(ceiling, "net", "allow", hosts);
  }
  Texts texts;
  for (const HostRule& rule : net.allow) texts.push_back(to_string(rule));
  for (const HostRule& rule : hosts) texts.push_back(to_string(rule));
  std::vector<Entry> entries;
  if (net.mode != NetMode::Allow) entries.push_back({"mode", spelled("allow")});
  entries.push_back({"allow", spelled(texts)});
  return in_document(ceiling, "net", entries);
}

std::string cure_for_host(const Ceiling& ceiling, const HostRule& host) {
  return cure_for_hosts(ceiling, {&host, 1});
}

std::string cure_for_request(const Ceiling& ceiling, const HostRule& endpoint,
                             const RequestPattern& pattern) {
  if (is_of_environment(ceiling)) return kOnlyInAFile;
  const HttpRule* rule = find_http_rule(ceiling.policy.net, endpoint);
  Texts allow;
  if (rule != nullptr) {
    for (const RequestPattern& one : rule->allow) allow.push_back(to_string(one));
  }
  allow.push_back(to_string(pattern));
  const bool json = ceiling.id.ends_with(".json");
  const std::string file = quote(ceiling.id);
  if (rule != nullptr) {
    const std::string table = json ? "in the element of \"http\" for " : "below the [[http]] for ";
    return table + to_string(endpoint) + " in " + file + ": " +
           (json ? "\"allow\": " : "allow = ") + spelled(allow);
  }
  const std::string host = spelled(to_string(endpoint));
  if (json) {
    return "in the list \"http\" of " + file + ": {\"host\": " + host +
           ", \"allow\": " + spelled(allow) + "}";
  }
  return "at the end of " + file + " a line [[http]], and below it: host = " + host +
         " and allow = " + spelled(allow);
}

std::string cure_for_open_network(const Ceiling& ceiling) {
  if (is_of_environment(ceiling)) return variable("NETWORK", std::string("allow"));
  std::string text = in_document(ceiling, "net", {{"mode", spelled("open")}});
  if (!ceiling.policy.net.allow.empty()) text += ", without allow";
  return text;
}

std::string cure_for_variable(const Ceiling& ceiling, const std::string& name) {
  Texts names = ceiling.policy.env.pass;
  names.push_back(name);
  return in_document(ceiling, "env", {{"pass", spelled(names)}});
}

std::string cure_for_ssh_agent(const Ceiling& ceiling) {
  if (is_of_environment(ceiling)) return kOnlyInAFile;
  return in_document(ceiling, "net", {{"ssh_agent", "true"}});
}

std::string cure_for_port(const Ceiling& ceiling, const PublishRule& rule) {
  if (is_of_environment(ceiling)) return kOnlyInAFile;
  Texts ports;
  for (const PublishRule& one : ceiling.policy.net.publish) ports.push_back(to_string(one));
  ports.push_back(to_string(rule));
  return in_document(ceiling, "net", {{"publish", spelled(ports)}});
}

std::string cure_for_socket(const Ceiling& ceiling, const std::string& path) {
  if (is_of_environment(ceiling)) return kOnlyInAFile;
  Texts sockets;
  for (const PathRule& one : ceiling.policy.net.sockets) sockets.push_back(one.text);
  sockets.push_back(path);
  return in_document(ceiling, "net", {{"sockets", spelled(sockets)}});
}

std::string cure_for_limit(const Ceiling& ceiling, const LimitField& field, std::uint64_t value) {
  if (is_of_environment(ceiling)) return variable("TIMEOUT_MS", std::to_string(value));
  const std::string text = format_limit(field.unit, value);
  const bool bare = field.unit == LimitUnit::Count || field.unit == LimitUnit::Thousandths;
  return in_document(ceiling, "limits", {{field.key, bare ? text : spelled(text)}});
}

std::string cure_for_scratch(const Ceiling& ceiling, std::uint64_t bytes) {
  return in_document(ceiling, "fs", {{"scratch", spelled(format_size(bytes))}});
}

bool is_baseline(const Grant& grant) {
  switch (grant.source) {
    case Grant::Source::Policy:
    case Grant::Source::GitDirectory:
      return false;
    case Grant::Source::System:
    case Grant::Source::Toolchain:
    case Grant::Source::Cache:
    case Grant::Source::Repository:
      return true;
  }
  return false;
}

PathModes::PathModes(std::span<const Grant> read, std::span<const Grant> write) {
  std::vector<const Grant*> baseline;
  for (const Grant& grant : read) {
    if (is_baseline(grant)) {
      baseline.push_back(&grant);
    } else {
      entries_.try_emplace(grant.path, PathEntry{&grant, PathMode::Read});
    }
  }
  for (const Grant& grant : write) {
    const auto [entry, added] =
        entries_.try_emplace(grant.path, PathEntry{&grant, PathMode::Write});
    if (!added && entry->second.mode == PathMode::Read) conflicts_.push_back(&grant);
  }
  // Parents sort before their children, so an entry meets whatever covers it.
  std::sort(baseline.begin(), baseline.end(),
            [](const Grant* a, const Grant* b) { return a->path < b->path; });
  for (const Grant* grant : baseline) {
    if (deepest(grant->path) == nullptr) {
      entries_.try_emplace(grant->path, PathEntry{grant, PathMode::Read});
    }
  }
}

PathMode PathModes::at(std::string_view path) const {
  const PathEntry* entry = deepest(path);
  return entry != nullptr ? entry->mode : PathMode::None;
}

const PathEntry* PathModes::deepest(std::string_view path) const& {
  for (std::string_view place = path;; place = parent(place)) {
    if (const auto found = entries_.find(place); found != entries_.end()) return &found->second;
    if (place == "/") return nullptr;
  }
}

}  // namespace cordon
