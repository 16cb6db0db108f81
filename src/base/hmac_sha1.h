// SHA-1, with which Java's stores of certificates end, and HMAC-SHA1, in which OpenSSH writes the
// names of hosts that it knows. Nothing of ours relies on either.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cordon {

std::array<std::uint8_t, 20> sha1(std::string_view bytes);
std::array<std::uint8_t, 20> hmac_sha1(std::string_view key, std::string_view bytes);

}  // namespace cordon
