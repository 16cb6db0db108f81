// The one question that a person at the client is asked. To accept it is a yes; everything else is
// a no.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/node.h"
#include "faces/mcp/call.h"
#include "faces/mcp/tools/file_call.h"

namespace cordon::mcp {

// What a dialog shows whole, in lines that none cuts off.
inline constexpr std::size_t kLongestQuestion = 300;
inline constexpr std::size_t kQuestionColumns = 80;

// A form without fields: whoever fills in a form and accepts it means what it asks.
Node approval_form();
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
