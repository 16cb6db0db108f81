// Reading members of an engine's document, in which each may be missing or of another type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/node.h"

namespace cordon::oci {

// Empty if there is none.
inline std::string text_in(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr && member->text() != nullptr ? *member->text() : std::string();
}

inline std::optional<std::int64_t> number_in(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  if (member == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&member->value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

// Null if there is none.
inline const NodeList* list_in(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->list() : nullptr;
}

}  // namespace cordon::oci
