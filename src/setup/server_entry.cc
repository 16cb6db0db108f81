#include "setup/server_entry.h"

#include <algorithm>

#include "config/node.h"

namespace cordon::setup {
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
