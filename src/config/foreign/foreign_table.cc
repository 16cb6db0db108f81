#include "config/foreign/foreign_table.h"

#include <algorithm>

#include "base/path.h"
#include "config/decode.h"
#include "config/document_text.h"
#include "config/path_entry.h"

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

}  // namespace cordon
