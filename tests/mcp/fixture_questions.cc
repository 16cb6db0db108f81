// Tools and a prompt that ask the client something, by the names of the conformance suite.
#include "base/check.h"
#include "fixture.h"

namespace cordon::mcp {
namespace {

using Decision = Elicited::Decision;

Node json(std::string_view text) {
  auto node = read_json(text, "fixture");
  CORDON_ASSERT(node.has_value());
  return std::move(*node);
}

constexpr std::string_view kName =
    R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})";
constexpr std::string_view kOk =
    R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]})";

std::string shown(const Node& node) { return write_json(node, JsonStyle::Compact); }

InputRequest sampling(const std::string& prompt) {
  Node content{NodeMap{}};
  content.set("type", "text").set("text", prompt);
  Node message{NodeMap{}};
  message.set("role", "user").set("content", std::move(content));
  Node params{NodeMap{}};
  params.set("messages", NodeList{std::move(message)}).set("maxTokens", 100);
  return {"sampling/createMessage", std::move(params)};
}

InputRequest roots() { return {"roots/list", Node(NodeMap{})}; }

ToolResult outcome_of(const Elicited& answer) {
  if (answer.decision != Decision::Accepted) return ToolResult::text("action=declined");
  return ToolResult::text("action=accept, content=" + shown(answer.content));
}

// One question, then an answer that shows it.
std::function<ToolResult(Call&)> asks(const std::string& key, const std::string& message,
                                      std::string_view schema) {
  return [key, message, schema](Call& call) {
    const Elicited answer = call.elicit(key, message, json(schema));
    if (answer.decision == Decision::Pending) return ToolResult{};
    return outcome_of(answer);
  };
}

ToolResult ask_twice(Call& call) {
  const Elicited name = call.elicit("step1", "Step 1: What is your name?", json(kName));
  if (name.decision == Decision::Pending) return {};
  const Elicited color = call.elicit(
      "step2", "Step 2: What is your favorite color?",
      json(R"({"type":"object","properties":{"color":{"type":"string"}},"required":["color"]})"));
  if (color.decision == Decision::Pending) return {};
  return ToolResult::text(shown(name.content) + " likes " + shown(color.content));
}

ToolResult ask_three_ways(Call& call) {
  const Elicited name = call.elicit("user_name", "What is your name?", json(kName));
  const Answer greeting = call.ask("greeting", sampling("Generate a greeting"));
  const Answer places = call.ask("client_roots", roots());
  if (!call.pending().empty()) return {};
  return ToolResult::text(shown(name.content) + shown(greeting.value) + shown(places.value));
}

ToolResult ask_what_is_possible(Call& call) {
  (void)call.elicit("form", "Anything to say?", json(kName));
  const Answer sampled = call.ask("model", sampling("Say something"));
  if (!call.pending().empty()) return {};
  return ToolResult::text(shown(sampled.value));
}

ToolResult sample(Call& call) {
  const Node* prompt = call.arguments().find("prompt");
  const Answer answer =
      call.ask("sample", sampling(prompt != nullptr && prompt->text() ? *prompt->text() : "?"));
  if (answer.state == Answer::State::Pending) return {};
  if (answer.state == Answer::State::Refused) return ToolResult::failure("sampling was refused");
  return ToolResult::text("LLM response: " + shown(answer.value));
}

constexpr std::string_view kDefaults = R"({"type":"object","properties":{
  "name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
  "score":{"type":"number","default":95.5},
  "status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
  "verified":{"type":"boolean","default":true}},"required":[]})";

constexpr std::string_view kEnums = R"({"type":"object","properties":{
  "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
  "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
    {"const":"value2","title":"Second Option"}]},
  "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
    "enumNames":["Option One","Option Two","Option Three"]},
  "untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
  "titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
    {"const":"value2","title":"Second Choice"}]}}},"required":[]})";

}  // namespace

void add_suite_questions(Registry& registry) {
  const auto add = [&](const char* name, std::function<ToolResult(Call&)> handler) {
    registry.tools.push_back(plain_tool(name, std::move(handler)));
  };
  Tool elicits = plain_tool("test_elicitation", [](Call& call) {
    const Node* message = call.arguments().find("message");
    const Elicited answer =
        call.elicit("user", message != nullptr && message->text() ? *message->text() : "?",
                    json(R"({"type":"object","properties":{
          "username":{"type":"string","description":"User's response"},
          "email":{"type":"string","description":"User's email address"}},
          "required":["username","email"]})"));
    if (answer.decision == Decision::Pending) return ToolResult{};
    return outcome_of(answer);
  });
  elicits.input_schema = object_schema(R"({"message":{"type":"string"}})", {"message"});
  registry.tools.push_back(std::move(elicits));
  Tool samples = plain_tool("test_sampling", sample);
  samples.input_schema = object_schema(R"({"prompt":{"type":"string"}})", {"prompt"});
  registry.tools.push_back(std::move(samples));
  add("test_elicitation_sep1034_defaults", asks("form", "Defaults", kDefaults));
  add("test_elicitation_sep1330_enums", asks("form", "Enumerations", kEnums));
  add("test_streaming_elicitation", asks("form", "Say yes", kOk));
  add("test_input_required_result_elicitation", asks("user_name", "What is your name?", kName));
  add("test_input_required_result_request_state", asks("confirm", "Please confirm", kOk));
  add("test_input_required_result_tampered_state", asks("confirm", "Please confirm", kOk));
  add("test_input_required_result_sampling", [](Call& call) {
    const Answer answer = call.ask("capital_question", sampling("What is the capital of France?"));
    if (answer.state == Answer::State::Pending) return ToolResult{};
    return ToolResult::text(shown(answer.value));
  });
  add("test_input_required_result_list_roots", [](Call& call) {
    const Answer answer = call.ask("client_roots", roots());
    if (answer.state == Answer::State::Pending) return ToolResult{};
    return ToolResult::text(shown(answer.value));
  });
  add("test_input_required_result_multiple_inputs", ask_three_ways);
  add("test_input_required_result_multi_round", ask_twice);
  add("test_input_required_result_capabilities", ask_what_is_possible);
  registry.prompts.push_back(
      {"test_input_required_result_prompt", "", "A prompt that asks", {}, [](Call& call) {
         const Elicited answer =
             call.elicit("user_context", "What context should the prompt use?",
                         json(R"({"type":"object","properties":{"context":{"type":"string"}},
                      "required":["context"]})"));
         if (answer.decision == Decision::Pending) return PromptResult();
         return PromptResult().say(text_block("Context: " + shown(answer.content)));
       }});
}

}  // namespace cordon::mcp
