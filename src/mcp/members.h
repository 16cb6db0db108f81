// Members of a message by name and type; null if absent or of another type.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"

namespace cordon::mcp {

inline const std::string* text_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->text() : nullptr;
}

inline const NodeMap* map_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->map() : nullptr;
}

}  // namespace cordon::mcp
