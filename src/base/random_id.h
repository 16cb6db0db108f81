// Names that nobody can guess or has used before.
#pragma once

#include <string>

namespace cordon {

// Sixteen random hexadecimal digits.
std::string random_id();

}  // namespace cordon
