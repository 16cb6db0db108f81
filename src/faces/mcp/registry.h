// Registry: the one table of tools, resources and prompts from which both eras of the protocol and
// every transport are served. Filled before a Server is made, never changed after: lists do not
// differ from one connection to the next.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "faces/mcp/call.h"

namespace cordon::mcp {

// The simple form of RFC 6570 templates: "scheme://{a}/fixed/{b}".

// The variables as a map of strings. Each stands for one or more characters but '/', as few as fit;
// nothing is percent-decoded, so no variable can come to hold a separator.
std::optional<Node> match_template(std::string_view uri_template, std::string_view uri);

class Call;

// Hints for the host, all four always sent. The defaults are those of the protocol: the worst.
struct Annotations {
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
  bool open_world = true;
};

// Handlers run on worker threads, several at once. They heed Call::cancel() and throw nothing.
struct Tool {
  std::string name;  // 1 to 128 of [A-Za-z0-9_.-]
  std::string title;
  std::string description;
  Node input_schema;
  std::optional<Node> output_schema;
  Annotations annotations;
  Node meta;                       // null: none
  std::vector<std::string> needs;  // client capabilities it cannot work without
  std::function<ToolResult(Call&)> handler;
  // What to answer, and to record, if the arguments are not those of the schema; `fault` names the
  // field. Empty: the fault as it is.
  std::function<ToolResult(Call&, const std::string& fault)> refuse;
  // A call may take as long as a command or a person does. Such calls have workers of their own, so
  // that no number of them keeps the others waiting.
  bool lasts = false;
};

// Nothing: there is no such resource.
using ResourceReader = std::function<std::optional<ResourceText>(Call&)>;

struct Resource {
  std::string uri;
  std::string name;
  std::string description;
  std::string mime_type;
  ResourceReader reader;
};

// "cordon://runs/{id}/{stream}": a variable stands for one or more characters but '/'. The reader
// finds them in Call::arguments().
struct ResourceTemplate {
  std::string uri_template;
  std::string name;
  std::string description;
  std::string mime_type;
  ResourceReader reader;
};

struct PromptArgument {
  std::string name;
  std::string description;
  bool required = true;
};

struct Prompt {
  std::string name;
  std::string title;
  std::string description;
  std::vector<PromptArgument> arguments;
  std::function<PromptResult(Call&)> handler;
};

// Values that may follow what was typed of an argument of a prompt or template, best first.
// `owner` is the prompt's name or the uri template.
using Completer = std::function<std::vector<std::string>(
    std::string_view owner, std::string_view argument, std::string_view typed)>;

struct Registry {
  std::vector<Tool> tools;
  std::vector<Tool> switched_off;  // in no list; the handler says by what
  std::vector<Resource> resources;
  std::vector<ResourceTemplate> templates;
  std::vector<Prompt> prompts;
  Completer completer;                  // empty: the capability is not declared
  bool logging = false;                 // declare the deprecated log messages
  bool resource_subscriptions = false;  // legacy era: Server::resource_changed reaches subscribers

  [[nodiscard]] const Tool* find_tool(std::string_view name) const;
  [[nodiscard]] const Tool* find_switched_off(std::string_view name) const;
  [[nodiscard]] const Prompt* find_prompt(std::string_view name) const;
};

// A resource that was asked for by its uri: the reader, and the variables of its template.
struct FoundResource {
  const ResourceReader* reader;
  Node variables;
};
std::optional<FoundResource> find_resource(const Registry& registry, std::string_view uri);

// Checks what a model sent against a tool's input schema. The schemas are ours, so only the
// keywords they use are judged: type, enum, required, properties, additionalProperties: false,
// items, minimum, maximum, minLength, maxLength, minItems, maxItems.

// The first fault, naming its field: "edits[0].old must be a string". Nothing if there is none.
// An integer that was written as 3.0 becomes one: JSON has no other difference between the two.
std::optional<std::string> check_arguments(const Node& schema, Node& arguments);

}  // namespace cordon::mcp
