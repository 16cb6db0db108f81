// Checks what a model sent against a tool's input schema. The schemas are ours, so only the
// keywords they use are judged: type, enum, required, properties, additionalProperties: false,
// items, minimum, maximum, minLength, maxLength, minItems, maxItems.
#pragma once

#include <optional>
#include <string>

#include "config/node.h"

namespace cordon::mcp {

// The first fault, naming its field: "edits[0].old must be a string". Nothing if there is none.
// An integer that was written as 3.0 becomes one: JSON has no other difference between the two.
std::optional<std::string> check_arguments(const Node& schema, Node& arguments);

}  // namespace cordon::mcp
