#include "compat/engine/yaml_text.h"

#include <algorithm>

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::size_t kIndent = 2;

std::string yaml_key(const std::string& key) {
  const auto is_plain = [](char c) {
    const char low = lower_case(c);
    return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
  };
  const bool letter =
      !key.empty() && lower_case(key.front()) >= 'a' && lower_case(key.front()) <= 'z';
  const bool plain = letter && key.size() > 1 && std::ranges::all_of(key, is_plain);
  // Words that YAML 1.1 takes for truth values.
  const std::string low = lower_case(key);
  const bool truth = low == "yes" || low == "no" || low == "on" || low == "off" || low == "true" ||
                     low == "false" || low == "null";
  return plain && !truth ? key : write_json(Node(key), JsonStyle::Compact);
}

bool is_nested(const Node& node) {
  if (const NodeMap* members = node.map()) return !members->empty();
  const NodeList* list = node.list();
  return list != nullptr && !list->empty();
}

// The lines of a map or a list that is not empty, each `indent` blanks in; the first one is not,
// where it stands behind a dash.
void write_block(const Node& node, std::size_t indent, bool behind_dash, std::string& text) {
  bool first = behind_dash;
  const auto begin = [&] {
    if (!first) text.append(indent, ' ');
    first = false;
  };
  if (const NodeMap* members = node.map()) {
    for (const auto& [key, value] : *members) {
      begin();
      text += yaml_key(key) + ":";
      if (is_nested(value)) {
        text += "\n";
        write_block(value, indent + kIndent, false, text);
      } else {
        text += " " + write_json(value, JsonStyle::Compact) + "\n";
      }
    }
    return;
  }
  const NodeList* list = node.list();
  if (list == nullptr) return;
  for (const Node& element : *list) {
    begin();
    text += "- ";
    if (is_nested(element)) {
      write_block(element, indent + kIndent, true, text);
    } else {
      text += write_json(element, JsonStyle::Compact) + "\n";
    }
  }
}

}  // namespace

std::string write_yaml(const Node& node) {
  if (!is_nested(node)) return write_json(node, JsonStyle::Compact) + "\n";
  std::string text;
  write_block(node, 0, false, text);
  return text;
}

}  // namespace cordon
