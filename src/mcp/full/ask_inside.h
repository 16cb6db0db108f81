// Asking Cordon's own program inside a sandbox about a file, and getting its whole answer.
#pragma once

#include <optional>
#include <string>

#include "config/node.h"
#include "mcp/tools/file_call.h"

namespace cordon::mcp {

struct InsideAnswer {
  Report report;
  std::optional<Node> answer;  // if it ran to a good end
};
// `operation` is one of mcp/inside/inside.h, about the call's own path.
InsideAnswer ask_inside(const FileCall& file, Policy policy, const std::string& operation,
                        const Node& request);

// The answer for one that came to no answer.
ToolResult answer_for(const FileCall& file, const InsideAnswer& answer);

// The string of an answer's member, or nothing.
std::string text_of(const Node& answer, std::string_view name);
std::uint64_t number_of(const Node& answer, std::string_view name);

}  // namespace cordon::mcp
