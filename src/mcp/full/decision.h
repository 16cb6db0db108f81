// The one question that a person at the client is asked: allow, or deny. Everything but a plain
// allow is a deny.
#pragma once

#include <cstddef>

#include "mcp/call.h"

namespace cordon::mcp {

// What a dialog shows whole.
inline constexpr std::size_t kLongestQuestion = 300;

Node decision_schema();
bool says_yes(const Elicited& answer);

}  // namespace cordon::mcp
