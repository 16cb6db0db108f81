// The two written forms of a plan. Private to read_plan().
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "loop/feature.h"

namespace cordon::loop {

Result<Features> read_markdown_plan(std::string_view text, const std::string& name);
Result<Features> read_json_plan(std::string_view text, const std::string& name);

}  // namespace cordon::loop
