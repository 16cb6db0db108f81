// A mark of a project's content: another mark means that something changed. What git keeps for
// itself is left out, since looking at a repository changes it.
#pragma once

#include <string>

#include "base/result.h"

namespace cordon::loop {

Result<std::string> tree_mark(const std::string& project);

}  // namespace cordon::loop
