// What a model is told about its bounds: numbers and words, and never the list of what is allowed,
// which it would read as a menu.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "faces/mcp/tools/secret_mask.h"

namespace cordon::mcp {

// `tools` are those that are registered.
Result<Node> limits_view(const CallCeilings& bounds, const std::vector<std::string>& tools);

// Listing: as many lines as an answer has room for beside what it holds already.

struct Listing {
  std::string text;       // each line with its end
  std::size_t lines = 0;  // of those given, which may span several
  std::size_t masked = 0;
};
// At least one of the lines, cut if it has to be: a reader must come forward.
Listing listing_of(const std::vector<std::string>& lines, const SecretMask& mask,
                   const Node& beside);

}  // namespace cordon::mcp
