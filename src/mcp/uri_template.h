// The simple form of RFC 6570 templates: "scheme://{a}/fixed/{b}".
#pragma once

#include <optional>
#include <string_view>

#include "config/node.h"

namespace cordon::mcp {

// The variables as a map of strings. Each stands for one or more characters but '/', as few as fit;
// nothing is percent-decoded, so no variable can come to hold a separator.
std::optional<Node> match_template(std::string_view uri_template, std::string_view uri);

}  // namespace cordon::mcp
