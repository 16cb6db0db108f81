// Base64 with padding, as MIME has it.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

std::string base64(std::string_view bytes);

}  // namespace cordon
