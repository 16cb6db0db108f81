#include "mcp/content.h"

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

}  // namespace cordon::mcp
