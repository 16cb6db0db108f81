#include "mcp/uri_template.h"

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

}  // namespace cordon::mcp
