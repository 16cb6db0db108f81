// The JSON Schema of what `cordon changes --json` answers.
#pragma once

#include <string_view>

namespace cordon {

std::string_view changes_schema();

}  // namespace cordon
