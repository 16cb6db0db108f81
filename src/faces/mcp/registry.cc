#include "faces/mcp/registry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "faces/mcp/call.h"

namespace cordon::mcp {

std::optional<Node> match_template(std::string_view uri_template, std::string_view uri) {
  Node variables{NodeMap{}};
  while (!uri_template.empty()) {
    const std::size_t open = uri_template.find('{');
    const std::string_view fixed = uri_template.substr(0, open);
    if (!uri.starts_with(fixed)) return std::nullopt;
    uri.remove_prefix(fixed.size());
    if (open == std::string_view::npos) break;
    const std::size_t close = uri_template.find('}', open);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view name = uri_template.substr(open + 1, close - open - 1);
    uri_template.remove_prefix(close + 1);

    // Up to the text that follows the variable in the template, or to the end.
    const std::string_view next = uri_template.substr(0, uri_template.find('{'));
    std::size_t length = uri.size();
    if (!next.empty()) {
      length = uri.find(next, 1);
      if (length == std::string_view::npos) return std::nullopt;
    }
    const std::string_view value = uri.substr(0, length);
    if (value.empty() || value.find('/') != std::string_view::npos) return std::nullopt;
    variables.set(std::string(name), value);
    uri.remove_prefix(length);
  }
  if (!uri.empty()) return std::nullopt;
  return variables;
}

namespace {

template <typename T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  const auto found = std::ranges::find_if(items, [&](const T& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Tool* Registry::find_tool(std::string_view name) const { return find_named(tools, name); }

const Tool* Registry::find_switched_off(std::string_view name) const {
  return find_named(switched_off, name);
}

const Prompt* Registry::find_prompt(std::string_view name) const {
  return find_named(prompts, name);
}

std::optional<FoundResource> find_resource(const Registry& registry, std::string_view uri) {
  for (const Resource& resource : registry.resources) {
    if (resource.uri == uri) return FoundResource{&resource.reader, Node(NodeMap{})};
  }
  for (const ResourceTemplate& entry : registry.templates) {
    if (auto variables = match_template(entry.uri_template, uri)) {
      return FoundResource{&entry.reader, std::move(*variables)};
    }
  }
  return std::nullopt;
}

namespace {

using Fault = std::optional<std::string>;

std::string label(const std::string& path) { return path.empty() ? "arguments" : path; }

std::string member_path(const std::string& path, std::string_view name) {
  // The name came from the peer and goes into a message for it: bounded and without controls.
  std::string shown = sanitize(name.substr(0, 64));
  return path.empty() ? shown : path + "." + shown;
}

std::optional<double> number_of(const Node& node) {
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) {
    return static_cast<double>(*whole);
  }
  if (const auto* real = std::get_if<double>(&node.value)) return *real;
  return std::nullopt;
}

void make_whole(Node& node) {
  const auto* real = std::get_if<double>(&node.value);
  constexpr double kLimit = 9007199254740992.0;  // past 2^53 a double stands for several integers
  if (real != nullptr && std::abs(*real) <= kLimit && std::trunc(*real) == *real) {
    node.value = static_cast<std::int64_t>(*real);
  }
}

bool has_type(std::string_view type, const Node& node) {
  if (type == "object") return node.map() != nullptr;
  if (type == "array") return node.list() != nullptr;
  if (type == "string") return node.text() != nullptr;
  if (type == "integer") return std::holds_alternative<std::int64_t>(node.value);
  if (type == "number") return number_of(node).has_value();
  if (type == "boolean") return std::holds_alternative<bool>(node.value);
  return type == "null" && std::holds_alternative<std::nullptr_t>(node.value);
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string shown_number(const Node& bound) { return write_json(bound, JsonStyle::Compact); }

Fault check_bound(const Node& schema, const char* keyword, const std::string& path, double value,
                  const char* noun) {
  const Node* bound = schema.find(keyword);
  const std::optional<double> limit = bound != nullptr ? number_of(*bound) : std::nullopt;
  if (!limit) return std::nullopt;
  const bool lower = std::string_view(keyword).starts_with("min");
  if (lower ? value >= *limit : value <= *limit) return std::nullopt;
  return label(path) + (lower ? " must be at least " : " must be at most ") + shown_number(*bound) +
         noun;
}

Fault check_value(const Node& schema, Node& value, const std::string& path);

// The command of a tool, as a list of words. Many clients have tools that take a line for a shell.
constexpr std::string_view kCommandWords = "argv";

// The same line as words: what can be sent instead. A long one is not repeated.
std::string as_words(const std::string& line) {
  constexpr std::size_t kLongestLine = 1024;
  if (line.size() > kLongestLine) return R"(: write the words "sh", "-c" and then the whole line)";
  Node node{NodeMap{}};
  node.set(std::string(kCommandWords), NodeList{Node("sh"), Node("-c"), Node(line)});
  return ": write " + write_json(node, JsonStyle::Compact);
}

// A line that came under a name the tool does not have.
std::string line_instead(std::string_view wanted, const Node* properties, const NodeMap& members) {
  if (wanted != kCommandWords) return {};
  for (const auto& [name, member] : members) {
    const bool known = properties != nullptr && properties->find(name) != nullptr;
    if (const std::string* line = member.text(); line != nullptr && !known) return as_words(*line);
  }
  return {};
}

Fault check_members(const Node& schema, NodeMap& members, const std::string& path) {
  const Node* required_node = schema.find("required");
  const NodeList* required = required_node != nullptr ? required_node->list() : nullptr;
  const Node* properties = schema.find("properties");
  const Node* additional = schema.find("additionalProperties");
  const bool closed = additional != nullptr && std::holds_alternative<bool>(additional->value) &&
                      !std::get<bool>(additional->value);
  if (required != nullptr) {
    for (const Node& name : *required) {
      const std::string* wanted = name.text();
      if (wanted == nullptr) continue;
      if (std::ranges::none_of(members, [&](const auto& m) { return m.first == *wanted; })) {
        return member_path(path, *wanted) + " is required" +
               line_instead(*wanted, properties, members);
      }
    }
  }
  for (auto& [name, member] : members) {
    const Node* rule = properties != nullptr ? properties->find(name) : nullptr;
    if (rule == nullptr && closed) {
      return member_path(path, name) + " is not a parameter of this tool";
    }
    if (rule == nullptr) continue;
    if (Fault fault = check_value(*rule, member, member_path(path, name))) return fault;
  }
  return std::nullopt;
}

Fault check_items(const Node& schema, NodeList& items, const std::string& path) {
  const auto count = static_cast<double>(items.size());
  if (Fault fault = check_bound(schema, "minItems", path, count, " item(s)")) return fault;
  if (Fault fault = check_bound(schema, "maxItems", path, count, " item(s)")) return fault;
  const Node* rule = schema.find("items");
  for (std::size_t i = 0; rule != nullptr && i < items.size(); ++i) {
    const std::string place = label(path) + "[" + std::to_string(i) + "]";
    if (Fault fault = check_value(*rule, items[i], place)) return fault;
  }
  return std::nullopt;
}

// Enumerations of our schemas hold strings, numbers and truth values.
bool same_scalar(const Node& a, const Node& b) {
  if (const auto x = number_of(a), y = number_of(b); x && y) return *x == *y;
  const std::string* left = a.text();
  const std::string* right = b.text();
  if (left != nullptr && right != nullptr) return *left == *right;
  const auto* x = std::get_if<bool>(&a.value);
  const auto* y = std::get_if<bool>(&b.value);
  return x != nullptr && y != nullptr && *x == *y;
}

Fault check_enum(const Node& schema, const Node& value, const std::string& path) {
  const Node* allowed = schema.find("enum");
  const NodeList* choices = allowed != nullptr ? allowed->list() : nullptr;
  if (choices == nullptr) return std::nullopt;
  const auto equal = [&](const Node& one) { return same_scalar(one, value); };
  if (std::ranges::any_of(*choices, equal)) return std::nullopt;
  return label(path) + " must be one of " + write_json(*allowed, JsonStyle::Compact);
}

Fault check_value(const Node& schema, Node& value, const std::string& path) {
  if (const std::string* type = text_member(schema, "type")) {
    if (*type == "integer") make_whole(value);
    if (!has_type(*type, value)) {
      const bool vowel = type->starts_with('a') || type->starts_with('i') || type->starts_with('o');
      const std::string* line = path == kCommandWords ? value.text() : nullptr;
      return label(path) + (vowel ? " must be an " : " must be a ") + *type +
             (line != nullptr ? as_words(*line) : std::string());
    }
  }
  if (Fault fault = check_enum(schema, value, path)) return fault;
  if (auto* members = std::get_if<NodeMap>(&value.value)) {
    return check_members(schema, *members, path);
  }
  if (auto* items = std::get_if<NodeList>(&value.value)) return check_items(schema, *items, path);
  if (const std::string* text = value.text()) {
    const auto length = static_cast<double>(code_points(*text));
    if (Fault fault = check_bound(schema, "minLength", path, length, " character(s) long")) {
      return fault;
    }
    return check_bound(schema, "maxLength", path, length, " character(s) long");
  }
  if (const std::optional<double> number = number_of(value)) {
    if (Fault fault = check_bound(schema, "minimum", path, *number, "")) return fault;
    return check_bound(schema, "maximum", path, *number, "");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_arguments(const Node& schema, Node& arguments) {
  return check_value(schema, arguments, "");
}

}  // namespace cordon::mcp
