// What tools, prompts and resources answer with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/node.h"

namespace cordon::mcp {

// Content blocks, as the protocol writes them. `base64` is already encoded.
Node text_block(std::string_view text);
Node image_block(std::string_view base64, std::string_view mime_type);
Node audio_block(std::string_view base64, std::string_view mime_type);
Node resource_block(std::string_view uri, std::string_view mime_type, std::string_view text);

struct ToolResult {
  NodeList content;
  std::optional<Node> structured;  // an object; only for tools with an output schema
  bool is_error = false;           // the call failed; a program that exits with 1 has not

  static ToolResult text(std::string_view text);
  static ToolResult failure(std::string_view text);
};

struct ResourceText {
  std::string mime_type;
  std::string text;                   // UTF-8
  std::optional<std::string> base64;  // instead of the text
};

struct PromptResult {
  std::string description;
  NodeList messages;

  PromptResult& say(Node block);  // one message of the user
};

}  // namespace cordon::mcp
