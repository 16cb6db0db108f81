// SHA-256 as lower-case hexadecimal digits: policy hashes and pins.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

std::string sha256_hex(std::string_view bytes);

}  // namespace cordon
