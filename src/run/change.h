// A change to a request that is tried before it is advised: the request with the change made, and
// how a person makes it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "run/judge.h"

namespace cordon {

struct Changed {
  RunInput input;
  std::vector<std::string> steps;
};

std::string steps_text(const std::vector<std::string>& steps);

// The ceiling as the rule that decides: its file with the line of the first of the keys that is
// there, or of their table.
std::string ceiling_rule(const Ceiling& ceiling, std::string_view table,
                         std::initializer_list<std::string_view> keys);

// The step that takes `text` out of what a document denies.
std::string take_out(const Policy& policy, std::string_view table, const std::string& text);

}  // namespace cordon
