// Members of a message by name and type; null if absent or of another type.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/node.h"

namespace cordon::mcp {

inline const std::string* text_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->text() : nullptr;
}

inline std::optional<std::int64_t> number_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  const auto* number = member != nullptr ? std::get_if<std::int64_t>(&member->value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

inline bool flag_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  const auto* flag = member != nullptr ? std::get_if<bool>(&member->value) : nullptr;
  return flag != nullptr && *flag;
}

// The other members of a map.
inline Node without(const Node& node, std::string_view key) {
  NodeMap members;
  if (const NodeMap* all = node.map()) {
    for (const auto& member : *all) {
      if (member.first != key) members.push_back(member);
    }
  }
  return members;
}

inline const NodeMap* map_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->map() : nullptr;
}

}  // namespace cordon::mcp
