// The one question that a person at the client is asked: allow, or deny. Everything but a plain
// allow is a deny.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/node.h"
#include "faces/mcp/call.h"
#include "faces/mcp/tools/file_call.h"

namespace cordon::mcp {

// What a dialog shows whole.
inline constexpr std::size_t kLongestQuestion = 300;

Node decision_schema();
bool says_yes(const Elicited& answer);

// Asking Cordon's own program inside a sandbox about a file, and getting its whole answer.

struct InsideAnswer {
  Report report;
  std::optional<Node> answer;  // if it ran to a good end
};
// `operation` is one of faces/mcp/inside/inside.h, about the call's own path.
InsideAnswer ask_inside(const FileCall& file, Policy policy, const std::string& operation,
                        const Node& request);

// The answer for one that came to no answer.
ToolResult answer_for(const FileCall& file, const InsideAnswer& answer);

// The string of an answer's member, or nothing.
std::string text_of(const Node& answer, std::string_view name);
std::uint64_t number_of(const Node& answer, std::string_view name);

}  // namespace cordon::mcp
