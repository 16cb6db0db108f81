#include "faces/mcp/call.h"

#include <algorithm>

#include "faces/mcp/envelope.h"

namespace cordon::mcp {
namespace {

Node block(std::string_view type) {
  Node node{NodeMap{}};
  node.set("type", type);
  return node;
}

Node media_block(std::string_view type, std::string_view base64, std::string_view mime_type) {
  Node node = block(type);
  node.set("data", base64).set("mimeType", mime_type);
  return node;
}

}  // namespace

Node text_block(std::string_view text) {
  Node node = block("text");
  node.set("text", text);
  return node;
}

Node image_block(std::string_view base64, std::string_view mime_type) {
  return media_block("image", base64, mime_type);
}

Node audio_block(std::string_view base64, std::string_view mime_type) {
  return media_block("audio", base64, mime_type);
}

Node resource_block(std::string_view uri, std::string_view mime_type, std::string_view text) {
  Node resource{NodeMap{}};
  resource.set("uri", uri).set("mimeType", mime_type).set("text", text);
  Node node = block("resource");
  node.set("resource", std::move(resource));
  return node;
}

ToolResult ToolResult::text(std::string_view text) {
  return {{text_block(text)}, std::nullopt, false};
}

ToolResult ToolResult::failure(std::string_view text) {
  return {{text_block(text)}, std::nullopt, true};
}

PromptResult& PromptResult::say(Node block) {
  Node message{NodeMap{}};
  message.set("role", "user").set("content", std::move(block));
  messages.push_back(std::move(message));
  return *this;
}

namespace {

std::string_view capability_of(std::string_view method) {
  if (method == "elicitation/create") return "elicitation";
  if (method == "sampling/createMessage") return "sampling";
  if (method == "roots/list") return "roots";
  return {};
}

}  // namespace

bool can_be_asked(const Node& client_capabilities, std::string_view method) {
  const std::string_view name = capability_of(method);
  const Node* declared = name.empty() ? nullptr : client_capabilities.find(name);
  if (declared == nullptr || declared->map() == nullptr) return false;
  // An empty elicitation capability means forms; one that names other modes alone does not.
  return name != "elicitation" || declared->map()->empty() || declared->find("form") != nullptr;
}

Call::Call(Setup setup) : setup_(std::move(setup)) {}

bool Call::wants_progress() const {
  const Node* token = setup_.meta.find("progressToken");
  return token != nullptr &&
         (token->text() != nullptr || std::holds_alternative<std::int64_t>(token->value));
}

void Call::progress(double done, std::optional<double> total, std::string_view message) {
  const bool grown = !last_progress_ || done > *last_progress_;
  if (!wants_progress() || cancelled() || !grown) return;
  last_progress_ = done;
  Node params{NodeMap{}};
  params.set("progressToken", *setup_.meta.find("progressToken")).set("progress", done);
  if (total) params.set("total", *total);
  if (!message.empty()) params.set("message", message);
  setup_.sink->send(encode_notification("notifications/progress", std::move(params)),
                    Weight::Droppable);
}

void Call::log(LogLevel level, std::string_view logger, Node data) {
  if (!setup_.log_level || level < *setup_.log_level || cancelled()) return;
  Node params{NodeMap{}};
  params.set("level", name_of(level)).set("logger", logger).set("data", std::move(data));
  setup_.sink->send(encode_notification("notifications/message", std::move(params)),
                    Weight::Droppable);
}

Answer Call::ask(const std::string& key, InputRequest request) {
  if (!can_be_asked(setup_.client_capabilities, request.method)) return {};
  const auto given =
      std::ranges::find_if(setup_.answers, [&](const auto& answer) { return answer.first == key; });
  if (given != setup_.answers.end()) {
    if (given->second.map() == nullptr) return {};
    return {Answer::State::Given, given->second};
  }
  if (std::ranges::find(settled_, key) != settled_.end()) return {};
  const auto asked = [&](const auto& question) { return question.first == key; };
  if (std::ranges::none_of(pending_, asked)) pending_.emplace_back(key, std::move(request));
  return {Answer::State::Pending, {}};
}

Elicited Call::elicit(const std::string& key, std::string_view message, Node schema) {
  Node params{NodeMap{}};
  params.set("message", message).set("requestedSchema", std::move(schema));
  const Answer answer = ask(key, {"elicitation/create", std::move(params)});
  if (answer.state == Answer::State::Pending) return {Elicited::Decision::Pending, {}};
  const Node* action = answer.value.find("action");
  const Node* content = answer.value.find("content");
  // A form without fields is accepted with nothing.
  const bool accepted = answer.state == Answer::State::Given && action != nullptr &&
                        action->text() != nullptr && *action->text() == "accept" &&
                        (content == nullptr || content->map() != nullptr);
  if (!accepted) return {};
  return {Elicited::Decision::Accepted, content == nullptr ? Node(NodeMap{}) : *content};
}

void Call::settle(NodeMap answers) {
  for (const auto& [key, request] : pending_) settled_.push_back(key);
  pending_.clear();
  for (auto& answer : answers) setup_.answers.push_back(std::move(answer));
}

}  // namespace cordon::mcp
