#include "base/utf8.h"

namespace cordon {
namespace {

struct Lead {
  std::size_t length;
  char32_t bits;
  unsigned char second_min;
  unsigned char second_max;
};

// The bounds on the second byte exclude overlong forms, surrogates and what is past U+10FFFF.
std::optional<Lead> lead_of(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return Lead{2, byte & 0x1FU, 0x80, 0xBF};
  if (byte == 0xE0) return Lead{3, 0, 0xA0, 0xBF};
  if (byte == 0xED) return Lead{3, 0x0D, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return Lead{3, byte & 0x0FU, 0x80, 0xBF};
  if (byte == 0xF0) return Lead{4, 0, 0x90, 0xBF};
  if (byte == 0xF4) return Lead{4, 4, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return Lead{4, byte & 0x07U, 0x80, 0xBF};
  return std::nullopt;
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte_at(0) < 0x80) return {byte_at(0), 1, false};
  const auto lead = lead_of(byte_at(0));
  if (!lead) return {std::nullopt, 1, false};
  char32_t value = lead->bits;
  for (std::size_t i = 1; i < lead->length; ++i) {
    if (i == text.size()) return {std::nullopt, i, true};
    const unsigned char low = i == 1 ? lead->second_min : 0x80;
    const unsigned char high = i == 1 ? lead->second_max : 0xBF;
    if (byte_at(i) < low || byte_at(i) > high) return {std::nullopt, i, false};
    value = (value << 6U) | (byte_at(i) & 0x3FU);
  }
  return {value, lead->length, false};
}

}  // namespace cordon
