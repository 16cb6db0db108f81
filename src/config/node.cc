#include "config/node.h"

#include <limits>

#include "base/check.h"

namespace cordon {

Node::Node(std::uint64_t number)
    : value(number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                ? std::numeric_limits<std::int64_t>::max()
                : static_cast<std::int64_t>(number)) {}

const Node* Node::find(std::string_view key) const {
  const NodeMap* members = map();
  if (members == nullptr) return nullptr;
  for (const auto& [name, member] : *members) {
    if (name == key) return &member;
  }
  return nullptr;
}

Node& Node::set(std::string key, Node member) {
  if (std::holds_alternative<std::nullptr_t>(value)) value = NodeMap{};
  auto* members = std::get_if<NodeMap>(&value);
  CORDON_ASSERT(members != nullptr);
  members->emplace_back(std::move(key), std::move(member));
  return *this;
}

}  // namespace cordon
