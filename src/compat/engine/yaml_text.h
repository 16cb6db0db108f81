// YAML in block style, for documents that people read and change. Every string stands in double
// quotes as JSON has it, which YAML reads the same way, so that no word is taken for a number, a
// truth value or a date.
#pragma once

#include <string>

#include "config/node.h"

namespace cordon {

// Ends with a line feed.
std::string write_yaml(const Node& node);

}  // namespace cordon
