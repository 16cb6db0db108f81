// What a model is told about its bounds: numbers and words, and never the list of what is allowed,
// which it would read as a menu.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"
#include "mcp/tools/bounds.h"

namespace cordon::mcp {

// `tools` are those that are registered.
Result<Node> limits_view(const Bounds& bounds, const std::vector<std::string>& tools);

}  // namespace cordon::mcp
