// Cutting text so that a result stays below what clients show whole. Costs are bytes of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::mcp {

// What the text of one result may hold: the smallest bound of the known clients.
inline constexpr std::size_t kResultBytes = 10'000;

// What UTF-8 text takes inside a JSON string.
std::size_t json_cost(std::string_view text);
// The longest beginning, and the longest end, of whole characters that costs at most this much.
std::string_view beginning_of(std::string_view text, std::size_t cost);
std::string_view end_of(std::string_view text, std::size_t cost);

// A text of which the middle may be missing already.
struct Pieces {
  std::string front;
  std::string back;
  std::uint64_t dropped = 0;  // bytes between them
};
struct Excerpt {
  std::string text;
  bool cut = false;
};
// Two fifths from the beginning, three from the end, and a line that tells what is missing: errors
// stand last.
Excerpt excerpt(const Pieces& pieces, std::size_t cost);

}  // namespace cordon::mcp
