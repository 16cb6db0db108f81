// Base64 with padding, as MIME has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon {

std::string base64(std::string_view bytes);
// Nothing if the text is not of that form.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cordon
