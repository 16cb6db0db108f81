#include "faces/mcp/listing.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::mcp {
namespace {

void set_if(Node& node, const char* key, const std::string& text) {
  if (!text.empty()) node.set(key, text);
}

Node describe(const Tool& tool) {
  Node hints{NodeMap{}};
  set_if(hints, "title", tool.title);
  hints.set("readOnlyHint", tool.annotations.read_only)
      .set("destructiveHint", tool.annotations.destructive)
      .set("idempotentHint", tool.annotations.idempotent)
      .set("openWorldHint", tool.annotations.open_world);
  Node node{NodeMap{}};
  node.set("name", tool.name);
  set_if(node, "title", tool.title);
  node.set("description", tool.description).set("inputSchema", tool.input_schema);
  if (tool.output_schema) node.set("outputSchema", *tool.output_schema);
  node.set("annotations", std::move(hints));
  if (tool.meta.map() != nullptr) node.set("_meta", tool.meta);
  return node;
}

template <typename T>
Node describe_source(const T& source, const char* key, const std::string& uri) {
  Node node{NodeMap{}};
  node.set(key, uri).set("name", source.name).set("description", source.description);
  set_if(node, "mimeType", source.mime_type);
  return node;
}

Node describe(const Resource& resource) { return describe_source(resource, "uri", resource.uri); }

Node describe(const ResourceTemplate& entry) {
  return describe_source(entry, "uriTemplate", entry.uri_template);
}

Node describe(const Prompt& prompt) {
  Node node{NodeMap{}};
  node.set("name", prompt.name);
  set_if(node, "title", prompt.title);
  node.set("description", prompt.description);
  NodeList arguments;
  for (const PromptArgument& argument : prompt.arguments) {
    Node entry{NodeMap{}};
    entry.set("name", argument.name)
        .set("description", argument.description)
        .set("required", argument.required);
    arguments.push_back(std::move(entry));
  }
  if (!arguments.empty()) node.set("arguments", std::move(arguments));
  return node;
}

// "tools@100": the list and where its next page begins.
std::optional<std::size_t> page_start(const Node& params, const std::string& key,
                                      std::size_t entries) {
  const Node* cursor = params.find("cursor");
  if (cursor == nullptr) return 0;
  const std::string* text = cursor->text();
  if (text == nullptr || !text->starts_with(key + "@")) return std::nullopt;
  const auto start = parse_number(std::string_view(*text).substr(key.size() + 1));
  if (!start || *start == 0 || *start >= entries) return std::nullopt;
  return static_cast<std::size_t>(*start);
}

template <typename T>
Reply page_of(const std::vector<T>& entries, const std::string& key, const Node& params,
              std::size_t page) {
  const auto start = page_start(params, key, entries.size());
  if (!start) {
    return tl::make_unexpected(
        RpcError{code::kInvalidParams, "unknown cursor; list again without one", std::nullopt});
  }
  const std::size_t end = std::min(entries.size(), *start + page);
  NodeList listed;
  for (std::size_t i = *start; i < end; ++i) listed.push_back(describe(entries[i]));
  Node result{NodeMap{}};
  result.set(key, std::move(listed));
  if (end < entries.size()) result.set("nextCursor", key + "@" + std::to_string(end));
  return result;
}

}  // namespace

Node server_info(const ServerInfo& info) {
  Node node{NodeMap{}};
  node.set("name", info.name);
  set_if(node, "title", info.title);
  node.set("version", info.version);
  return node;
}

Node server_capabilities(const Registry& registry, Era era) {
  Node node{NodeMap{}};
  node.set("tools", NodeMap{});
  if (!registry.resources.empty() || !registry.templates.empty()) {
    Node resources{NodeMap{}};
    if (era == Era::Legacy && registry.resource_subscriptions) resources.set("subscribe", true);
    node.set("resources", std::move(resources));
  }
  if (!registry.prompts.empty()) node.set("prompts", NodeMap{});
  if (registry.completer) node.set("completions", NodeMap{});
  if (registry.logging) node.set("logging", NodeMap{});
  return node;
}

bool is_list(std::string_view method) {
  return method == "tools/list" || method == "resources/list" ||
         method == "resources/templates/list" || method == "prompts/list";
}

Reply list_page(const Registry& registry, std::string_view method, const Node& params,
                std::size_t page) {
  if (method == "resources/list") return page_of(registry.resources, "resources", params, page);
  if (method == "resources/templates/list") {
    return page_of(registry.templates, "resourceTemplates", params, page);
  }
  if (method == "prompts/list") return page_of(registry.prompts, "prompts", params, page);
  return page_of(registry.tools, "tools", params, page);
}

}  // namespace cordon::mcp
