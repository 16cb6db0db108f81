// SHA-256 and HMAC-SHA-256: policy hashes, pins, the chain of the audit log and its keyed hashes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cordon {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
Digest hmac_sha256(std::span<const std::uint8_t, 32> key, std::string_view bytes);

// Lower-case hexadecimal digits.
std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace cordon
