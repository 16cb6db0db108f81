// What an agent is told about a feature.
#pragma once

#include <optional>
#include <string>

#include "loop/events.h"
#include "loop/feature.h"

namespace cordon::loop {

// `last` is how the attempt before this one was judged.
std::string build_prompt(const Feature& feature, const std::optional<VerifyEnded>& last);

}  // namespace cordon::loop
