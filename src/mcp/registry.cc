#include "mcp/registry.h"

#include <algorithm>

#include "mcp/uri_template.h"

namespace cordon::mcp {
namespace {

template <typename T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  const auto found = std::ranges::find_if(items, [&](const T& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Tool* Registry::find_tool(std::string_view name) const { return find_named(tools, name); }

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

}  // namespace cordon::mcp
