#include "faces/setup/host_file.h"

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "config/node.h"
#include "faces/setup/installation.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/resolve.h"

namespace cordon::setup {
namespace {

constexpr unsigned kPermissions = 0777;

std::string place_of(const std::string& written, const Caller& caller) {
  if (written.starts_with('/')) return written;
  if (written.starts_with("~/")) return join(caller.home, written.substr(2));
  return join(caller.cwd, written);
}

void judge(const std::string& wanted, HostFilePlan& plan) {
  if (plan.before == wanted) {
    plan.standing = HostStanding::Current;
    return;
  }
  const ConfigForm form = plan.path.ends_with(".toml") ? ConfigForm::Toml : ConfigForm::Json;
  // What holds no server is not put together from two texts.
  if (add_server(wanted, wanted, form).kind != ServerMerge::Kind::Same) {
    plan.standing = HostStanding::Edited;
    return;
  }
  plan.addition = entry_text(wanted, form);
  ServerMerge merge = add_server(plan.before, wanted, form);
  switch (merge.kind) {
    case ServerMerge::Kind::Same:
      plan.standing = HostStanding::Current;
      break;
    case ServerMerge::Kind::Different:
      plan.standing = HostStanding::Edited;
      break;
    case ServerMerge::Kind::Added:
      plan.standing = HostStanding::Lacks;
      plan.text = std::move(merge.text);
      break;
    case ServerMerge::Kind::ByHand:
      plan.standing = HostStanding::ByHand;
      plan.why = "it could not be changed so that the rest stays as it is";
      break;
  }
}

}  // namespace

HostFilePlan plan_host_file(const std::string& written, const std::string& wanted,
                            const Caller& caller) {
  HostFilePlan plan;
  plan.path = place_of(written, caller);
  plan.addition = wanted;
  plan.text = wanted;
  const auto by_hand = [&plan](const Error& error) {
    plan.standing = HostStanding::ByHand;
    plan.why = error.what;
    return plan;
  };
  const std::string above(parent(plan.path));
  const auto real = canonicalize(above, caller.cwd, caller);
  if (!real) return by_hand(real.error());
  // A project may have come with links; where the configuration directory lies is the person's
  // word.
  if (!written.starts_with('/') && real->path != above) {
    return by_hand(policy_error("a symlink leads to it"));
  }
  const auto directory = check_directory(above, caller);
  if (!directory) return by_hand(directory.error());
  if (!inspect_path(plan.path)) return plan;
  auto text = read_trusted_file(plan.path, caller);
  if (!text) return by_hand(text.error());
  plan.before = *std::move(text);
  judge(wanted, plan);
  return plan;
}

Result<void> write_host_file(const HostFilePlan& plan, const Caller& caller) {
  const std::string directory(parent(plan.path));
  const std::string name(basename(plan.path));
  CORDON_TRY(place, open_private_directory(directory, DirectoryUse::Configuration));
  int error = 0;
  if (plan.standing == HostStanding::Missing) {
    error = put_file(place.get(), name, plan.text, kOwnerOnlyFile);
  } else {
    const std::optional<FileInfo> seen = inspect_name(place.get(), name);
    CORDON_TRY(now, read_trusted_file(plan.path, caller));
    if (!seen || now != plan.before) {
      return fail(setup_error(quote(plan.path) + " was changed meanwhile", 0, "set up again"));
    }
    error = replace_file(place.get(), name, plan.text, seen->mode & kPermissions);
  }
  if (error != 0) return fail(setup_error("cannot write " + quote(plan.path), error));
  return {};
}

namespace {

constexpr std::string_view kName = "cordon";
constexpr std::string_view kTomlTable = "[mcp_servers.cordon]";

// The member of a configuration that holds the servers, by the one that holds ours.
struct Wanted {
  std::string servers;
  Node entry;
};

Result<Node> read(std::string_view text, ConfigForm form) {
  return form == ConfigForm::Json ? read_json(text, "configuration")
                                  : read_toml(text, "configuration");
}

std::string canonical(const Node& node) { return write_json(node, JsonStyle::Compact); }

std::optional<Wanted> parse_wanted(std::string_view text, ConfigForm form) {
  const auto document = read(text, form);
  if (!document || document->map() == nullptr) return std::nullopt;
  for (const auto& [key, member] : *document->map()) {
    if (const Node* entry = member.find(kName)) return Wanted{key, *entry};
  }
  return std::nullopt;
}

// Columns count characters, as messages do.
std::optional<std::size_t> offset_of(std::string_view text, unsigned line, unsigned column) {
  unsigned at_line = 1;
  unsigned at_column = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
    if (!continues && at_line == line && at_column == column) return i;
    if (text[i] == '\n') {
      ++at_line;
      at_column = 1;
    } else if (!continues) {
      ++at_column;
    }
  }
  return std::nullopt;
}

std::string indented(const std::string& text, std::size_t columns) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result.append(columns, ' ');
  }
  return result;
}

std::string member_text(std::string_view key, const Node& value, std::size_t columns) {
  return "\"" + std::string(key) + "\": " + indented(write_json(value, JsonStyle::Pretty), columns);
}

// Behind the brace that opens `container`.
std::optional<std::string> inserted(std::string_view text, const Node& container,
                                    const std::string& member, std::size_t columns) {
  const NodeMap* members = container.map();
  const auto brace = offset_of(text, container.line, container.column);
  if (members == nullptr || !brace || text[*brace] != '{') return std::nullopt;
  std::string result(text.substr(0, *brace + 1));
  result.append("\n").append(columns, ' ').append(member);
  result.append(members->empty() ? "\n" : ",");
  return result.append(text.substr(*brace + 1));
}

std::optional<std::string> with_entry(std::string_view existing, const Node& document,
                                      std::string_view wanted_text, const Wanted& wanted,
                                      ConfigForm form) {
  constexpr std::size_t kStep = 2;
  if (form == ConfigForm::Toml) {
    std::string text(existing);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    return text.append("\n").append(entry_text(wanted_text, form));
  }
  if (const Node* servers = document.find(wanted.servers)) {
    return inserted(existing, *servers, member_text(kName, wanted.entry, 2 * kStep), 2 * kStep);
  }
  Node servers{NodeMap{}};
  servers.set(std::string(kName), wanted.entry);
  return inserted(existing, document, member_text(wanted.servers, servers, kStep), kStep);
}

// Whether `text` is `before` and the entry, and nothing else has changed.
bool only_adds(const std::string& text, const Node& before, const Wanted& wanted, ConfigForm form) {
  auto after = read(text, form);
  if (!after || after->map() == nullptr) return false;
  auto& members = std::get<NodeMap>(after->value);
  const auto servers = std::ranges::find(members, wanted.servers, &NodeMap::value_type::first);
  if (servers == members.end() || servers->second.map() == nullptr) return false;
  auto& entries = std::get<NodeMap>(servers->second.value);
  const auto entry = std::ranges::find(entries, kName, &NodeMap::value_type::first);
  if (entry == entries.end() || canonical(entry->second) != canonical(wanted.entry)) return false;
  entries.erase(entry);
  if (before.find(wanted.servers) == nullptr) members.erase(servers);
  return canonical(*after) == canonical(before);
}

}  // namespace

std::string entry_text(std::string_view wanted, ConfigForm form) {
  if (form == ConfigForm::Toml) {
    const std::size_t table = wanted.find(kTomlTable);
    return std::string(table == std::string_view::npos ? wanted : wanted.substr(table));
  }
  const auto parsed = parse_wanted(wanted, form);
  return parsed ? member_text(kName, parsed->entry, 0) + "\n" : std::string(wanted);
}

ServerMerge add_server(std::string_view existing, std::string_view wanted, ConfigForm form) {
  using Kind = ServerMerge::Kind;
  const auto ours = parse_wanted(wanted, form);
  const auto document = read(existing, form);
  if (!ours || !document || document->map() == nullptr) return {Kind::ByHand, {}};
  const Node* servers = document->find(ours->servers);
  if (servers != nullptr && servers->map() == nullptr) return {Kind::ByHand, {}};
  if (const Node* there = servers == nullptr ? nullptr : servers->find(kName)) {
    return {canonical(*there) == canonical(ours->entry) ? Kind::Same : Kind::Different, {}};
  }
  auto text = with_entry(existing, *document, wanted, *ours, form);
  if (!text || !only_adds(*text, *document, *ours, form)) return {Kind::ByHand, {}};
  return {Kind::Added, *std::move(text)};
}

}  // namespace cordon::setup
