// Tools, prompts and resources by the names and texts the conformance suite asks for.
#include <poll.h>

#include "base/check.h"
#include "fixture.h"

namespace cordon::mcp {
namespace {

constexpr std::string_view kRedPixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg"
    "gg==";
constexpr std::string_view kSilence =
    "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

std::string argument(const Call& call, std::string_view name) {
  const Node* value = call.arguments().find(name);
  return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
}

ToolResult report_progress(Call& call) {
  call.progress(0, 100, "started");
  pause(call, 50);
  call.progress(50, 100, "half");
  pause(call, 50);
  call.progress(100, 100, "done");
  return ToolResult::text("progress was reported");
}

ToolResult write_log(Call& call) {
  call.log(LogLevel::Info, "fixture", "Tool execution started");
  pause(call, 50);
  call.log(LogLevel::Info, "fixture", "Tool processing data");
  pause(call, 50);
  call.log(LogLevel::Info, "fixture", "Tool execution completed");
  return ToolResult::text("log messages were sent");
}

}  // namespace

Node object_schema(std::string_view properties, const std::vector<std::string>& required) {
  auto read = read_json(properties, "schema");
  CORDON_ASSERT(read.has_value());
  Node schema{NodeMap{}};
  schema.set("type", "object").set("properties", std::move(*read));
  NodeList names;
  for (const std::string& name : required) names.emplace_back(name);
  if (!names.empty()) schema.set("required", std::move(names));
  schema.set("additionalProperties", false);
  return schema;
}

Tool plain_tool(std::string name, std::function<ToolResult(Call&)> handler) {
  Tool tool;
  tool.name = std::move(name);
  tool.description = "Fixture: " + tool.name;
  tool.input_schema = object_schema("{}", {});
  tool.annotations = {true, false, true, false};
  tool.handler = std::move(handler);
  return tool;
}

void pause(const Call& call, int milliseconds) {
  pollfd wait{call.cancel().descriptor(), POLLIN, 0};
  ::poll(&wait, 1, milliseconds);
}

void add_suite_tools(Registry& registry) {
  const auto add = [&](const char* name, std::function<ToolResult(Call&)> handler) {
    registry.tools.push_back(plain_tool(name, std::move(handler)));
  };
  add("test_simple_text",
      [](Call&) { return ToolResult::text("This is a simple text response for testing."); });
  add("test_image_content", [](Call&) {
    return ToolResult{{image_block(kRedPixel, "image/png")}, std::nullopt, false};
  });
  add("test_audio_content", [](Call&) {
    return ToolResult{{audio_block(kSilence, "audio/wav")}, std::nullopt, false};
  });
  add("test_embedded_resource", [](Call&) {
    return ToolResult{{resource_block("test://embedded-resource", "text/plain",
                                      "This is an embedded resource content.")},
                      std::nullopt,
                      false};
  });
  add("test_multiple_content_types", [](Call&) {
    return ToolResult{
        {text_block("Multiple content types test:"), image_block(kRedPixel, "image/png"),
         resource_block("test://mixed-content-resource", "application/json",
                        R"({"test":"data","value":123})")},
        std::nullopt,
        false};
  });
  add("test_error_handling", [](Call&) {
    return ToolResult::failure("This tool intentionally returns an error for testing");
  });
  add("test_tool_with_progress", report_progress);
  add("test_tool_with_logging", write_log);
  add("test_logging_tool", write_log);
  Tool demanding = plain_tool("test_missing_capability",
                              [](Call&) { return ToolResult::text("the client can sample"); });
  demanding.needs = {"sampling"};
  registry.tools.push_back(std::move(demanding));

  // Keywords that the argument checker does not judge must reach the client unchanged.
  Tool keywords =
      plain_tool("json_schema_2020_12_tool", [](Call&) { return ToolResult::text("called"); });
  auto schema = read_json(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
      "contactMethod": {"type": "string", "enum": ["phone", "email"]},
      "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]},
    "additionalProperties": false})",
                          "schema");
  CORDON_ASSERT(schema.has_value());
  keywords.input_schema = std::move(*schema);
  registry.tools.push_back(std::move(keywords));
}

void add_suite_sources(Registry& registry) {
  registry.resources.push_back(
      {"test://static-text", "static-text", "A text", "text/plain",
       [](Call&) -> std::optional<ResourceText> {
         return ResourceText{"text/plain", "This is the content of the static text resource.",
                             std::nullopt};
       }});
  registry.resources.push_back({"test://static-binary", "static-binary", "A picture", "image/png",
                                [](Call&) -> std::optional<ResourceText> {
                                  return ResourceText{"image/png", "", std::string(kRedPixel)};
                                }});
  registry.resources.push_back({"test://watched-resource", "watched-resource", "Changes",
                                "text/plain", [](Call&) -> std::optional<ResourceText> {
                                  return ResourceText{"text/plain", "now", std::nullopt};
                                }});
  registry.templates.push_back(
      {"test://template/{id}/data", "template", "Data by id", "application/json",
       [](Call& call) -> std::optional<ResourceText> {
         const std::string id = argument(call, "id");
         if (id == "missing") return std::nullopt;
         Node data{NodeMap{}};
         data.set("id", id).set("templateTest", true).set("data", "Data for ID: " + id);
         return ResourceText{"application/json", write_json(data, JsonStyle::Compact),
                             std::nullopt};
       }});
  registry.prompts.push_back({"test_simple_prompt", "", "A simple prompt", {}, [](Call&) {
                                return PromptResult().say(
                                    text_block("This is a simple prompt for testing."));
                              }});
  registry.prompts.push_back(
      {"test_prompt_with_arguments",
       "",
       "A prompt with arguments",
       {{"arg1", "First test argument", true}, {"arg2", "Second test argument", true}},
       [](Call& call) {
         return PromptResult().say(text_block("Prompt with arguments: arg1='" +
                                              argument(call, "arg1") + "', arg2='" +
                                              argument(call, "arg2") + "'"));
       }});
  registry.prompts.push_back({"test_prompt_with_embedded_resource",
                              "",
                              "A prompt with a resource",
                              {{"resourceUri", "URI of the resource to embed", true}},
                              [](Call& call) {
                                return PromptResult()
                                    .say(resource_block(argument(call, "resourceUri"), "text/plain",
                                                        "Embedded resource content for testing."))
                                    .say(text_block("Please process the embedded resource above."));
                              }});
  registry.prompts.push_back(
      {"test_prompt_with_image", "", "A prompt with a picture", {}, [](Call&) {
         return PromptResult()
             .say(image_block(kRedPixel, "image/png"))
             .say(text_block("Please analyze the image above."));
       }});
  registry.completer = [](std::string_view, std::string_view, std::string_view typed) {
    std::vector<std::string> found;
    for (const char* word : {"test-one", "test-two", "other"}) {
      if (std::string_view(word).starts_with(typed)) found.emplace_back(word);
    }
    return found;
  };
  registry.logging = true;
  registry.resource_subscriptions = true;
}

}  // namespace cordon::mcp
