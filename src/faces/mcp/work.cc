#include "faces/mcp/work.h"

#include <algorithm>
#include <optional>

namespace cordon::mcp {
namespace {

Reply busy_error() {
  return tl::make_unexpected(
      RpcError{code::kInternal, "too many calls in flight; try again later", std::nullopt});
}

Node encode(ToolResult result) {
  Node node{NodeMap{}};
  node.set("content", std::move(result.content));
  if (result.structured) node.set("structuredContent", std::move(*result.structured));
  node.set("isError", result.is_error);
  if (result.meta) node.set("_meta", std::move(*result.meta));
  return node;
}

struct Named {
  std::string name;
  Node arguments;
};
tl::expected<Named, RpcError> named(const Node& params) {
  const std::string* name = text_member(params, "name");
  const Node* arguments = params.find("arguments");
  if (name == nullptr) return bad_params("name must be a string");
  if (arguments != nullptr && arguments->map() == nullptr) {
    return bad_params("arguments must be an object");
  }
  return Named{*name, arguments != nullptr ? *arguments : Node(NodeMap{})};
}

NodeMap missing_capabilities(const Tool& tool, const Node& client_capabilities) {
  NodeMap missing;
  for (const std::string& name : tool.needs) {
    if (client_capabilities.find(name) == nullptr) missing.emplace_back(name, NodeMap{});
  }
  return missing;
}

std::optional<RpcError> check_prompt(const Prompt& prompt, const Node& arguments) {
  const NodeMap* given = arguments.map();
  for (const auto& [name, value] : given != nullptr ? *given : NodeMap{}) {
    const auto known = [&wanted = name](const PromptArgument& argument) {
      return argument.name == wanted;
    };
    if (value.text() == nullptr || std::ranges::none_of(prompt.arguments, known)) {
      return RpcError{code::kInvalidParams, "arguments of a prompt are the listed ones, as strings",
                      std::nullopt};
    }
  }
  for (const PromptArgument& argument : prompt.arguments) {
    if (argument.required && arguments.find(argument.name) == nullptr) {
      return RpcError{code::kInvalidParams, "argument " + argument.name + " is required",
                      std::nullopt};
    }
  }
  return std::nullopt;
}

RpcError resource_not_found(Era era, const std::string& uri) {
  Node data{NodeMap{}};
  data.set("uri", uri);
  return {era == Era::Modern ? code::kInvalidParams : code::kLegacyResourceNotFound,
          "resource not found", std::move(data)};
}

tl::expected<Work, RpcError> plan_tool(const Exchange& exchange, const Registry& registry) {
  auto call = named(exchange.request.params);
  if (!call) return tl::make_unexpected(std::move(call).error());
  const Tool* tool = registry.find_tool(call->name);
  if (tool == nullptr) tool = registry.find_switched_off(call->name);
  if (tool == nullptr) return bad_params("unknown tool");
  const NodeMap missing = missing_capabilities(*tool, exchange.client_capabilities);
  if (!missing.empty() && exchange.era == Era::Modern) {
    Node data{NodeMap{}};
    data.set("requiredCapabilities", missing);
    return tl::make_unexpected(
        RpcError{code::kMissingCapability, "the client lacks a capability", std::move(data)});
  }
  std::optional<std::string> fault;
  if (!missing.empty()) {
    fault = "this client lacks a capability the tool needs: " + missing.front().first;
  } else {
    fault = check_arguments(tool->input_schema, call->arguments);
  }
  Work work;
  work.lasts = tool->lasts;
  work.subject = "tools/call " + call->name;
  work.arguments = std::move(call->arguments);
  work.busy = [] {
    return encode(ToolResult::failure("too many calls in flight; wait for one to end"));
  };
  work.run = [tool, fault](Call& running) -> Reply {
    // A result, not an error: the model reads it and can fix its call.
    if (fault && tool->refuse) return encode(tool->refuse(running, *fault));
    if (fault) return encode(ToolResult::failure("invalid arguments: " + *fault));
    return encode(tool->handler(running));
  };
  return work;
}

tl::expected<Work, RpcError> plan_prompt(const Exchange& exchange, const Registry& registry) {
  auto call = named(exchange.request.params);
  if (!call) return tl::make_unexpected(std::move(call).error());
  const Prompt* prompt = registry.find_prompt(call->name);
  if (prompt == nullptr) return bad_params("unknown prompt");
  if (auto fault = check_prompt(*prompt, call->arguments)) {
    return tl::make_unexpected(std::move(*fault));
  }
  Work work;
  work.subject = "prompts/get " + call->name;
  work.arguments = std::move(call->arguments);
  work.busy = busy_error;
  work.run = [prompt](Call& running) -> Reply {
    PromptResult result = prompt->handler(running);
    Node node{NodeMap{}};
    if (!result.description.empty()) node.set("description", result.description);
    node.set("messages", std::move(result.messages));
    return node;
  };
  return work;
}

tl::expected<Work, RpcError> plan_read(const Exchange& exchange, const Registry& registry) {
  const std::string* wanted = text_member(exchange.request.params, "uri");
  if (wanted == nullptr) return bad_params("uri must be a string");
  const std::string uri = *wanted;
  auto found = find_resource(registry, uri);
  if (!found) return tl::make_unexpected(resource_not_found(exchange.era, uri));
  Work work;
  work.subject = "resources/read " + uri;
  work.arguments = std::move(found->variables);
  work.busy = busy_error;
  work.run = [reader = found->reader, uri, era = exchange.era](Call& running) -> Reply {
    auto text = (*reader)(running);
    if (!text) return tl::make_unexpected(resource_not_found(era, uri));
    Node content{NodeMap{}};
    content.set("uri", uri).set("mimeType", text->mime_type);
    if (text->base64) {
      content.set("blob", *text->base64);
    } else {
      content.set("text", text->text);
    }
    Node node{NodeMap{}};
    node.set("contents", NodeList{std::move(content)});
    return node;
  };
  return work;
}

tl::expected<Work, RpcError> plan_completion(const Exchange& exchange, const Registry& registry) {
  const Node& params = exchange.request.params;
  const Node* reference = params.find("ref");
  const Node* argument = params.find("argument");
  if (reference == nullptr || argument == nullptr) {
    return bad_params("completion needs ref and argument");
  }
  const std::string* type = text_member(*reference, "type");
  const std::string* owner =
      text_member(*reference, type != nullptr && *type == "ref/prompt" ? "name" : "uri");
  const std::string* name = text_member(*argument, "name");
  const std::string* typed = text_member(*argument, "value");
  if (owner == nullptr || name == nullptr || typed == nullptr) {
    return bad_params("completion needs ref and argument");
  }
  Work work;
  work.subject = "completion/complete";
  work.arguments = Node(NodeMap{});
  work.busy = busy_error;
  work.run = [&registry, owner = *owner, name = *name, typed = *typed](Call&) -> Reply {
    constexpr std::size_t kMostValues = 100;  // the protocol's bound
    const std::vector<std::string> all = registry.completer(owner, name, typed);
    NodeList values;
    for (const std::string& value : all) {
      if (values.size() < kMostValues) values.emplace_back(value);
    }
    Node completion{NodeMap{}};
    completion.set("values", std::move(values))
        .set("total", all.size())
        .set("hasMore", all.size() > kMostValues);
    Node node{NodeMap{}};
    node.set("completion", std::move(completion));
    return node;
  };
  return work;
}

}  // namespace

tl::expected<Work, RpcError> plan_work(const Exchange& exchange, const Registry& registry) {
  const std::string& method = exchange.request.method;
  if (method == "tools/call") return plan_tool(exchange, registry);
  if (method == "prompts/get") return plan_prompt(exchange, registry);
  if (method == "resources/read") return plan_read(exchange, registry);
  return plan_completion(exchange, registry);
}

}  // namespace cordon::mcp
