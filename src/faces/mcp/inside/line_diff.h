// The difference of two texts by lines, in unified form without its header.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::mcp {

// Three lines of context. Cut behind a whole line, with a line that says so, at about `most` bytes.
// Where the texts differ too much for the exact search, what lies between their common beginning
// and end is told as replaced.
std::string line_diff(std::string_view before, std::string_view after, std::size_t most);

}  // namespace cordon::mcp
