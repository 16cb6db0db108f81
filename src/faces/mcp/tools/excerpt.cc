#include "faces/mcp/tools/excerpt.h"

#include <utility>

#include "base/text.h"

namespace cordon::mcp {
namespace {

std::size_t character_cost(std::string_view character) {
  constexpr std::size_t kEscaped = 6;  // \u001b
  const auto byte = static_cast<unsigned char>(character.front());
  if (character.size() > 1) return character.size();
  if (byte == '"' || byte == '\\') return 2;
  if (byte == '\n' || byte == '\r' || byte == '\t') return 2;
  return byte < 0x20 || byte == 0x7F ? kEscaped : 1;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string missing(std::uint64_t bytes) {
  return "\n[... " + std::to_string(bytes) + " bytes left out ...]\n";
}

}  // namespace

std::size_t json_cost(std::string_view text) {
  std::size_t cost = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_step(text).length;
    cost += character_cost(text.substr(0, length));
    text.remove_prefix(length);
  }
  return cost;
}

std::string_view beginning_of(std::string_view text, std::size_t cost) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_step(text.substr(at)).length;
    const std::size_t more = character_cost(text.substr(at, length));
    if (more > cost) break;
    cost -= more;
    at += length;
  }
  return text.substr(0, at);
}

std::string_view end_of(std::string_view text, std::size_t cost) {
  std::size_t at = text.size();
  while (at > 0) {
    std::size_t first = at - 1;
    while (first > 0 && continues(text[first])) --first;
    const std::size_t more = character_cost(text.substr(first, at - first));
    if (more > cost) break;
    cost -= more;
    at = first;
  }
  return text.substr(at);
}

Excerpt excerpt(const Pieces& pieces, std::size_t cost) {
  constexpr std::size_t kLine = 64;  // for the line that tells
  std::string_view front = pieces.front;
  std::string_view back = pieces.back;
  std::string whole;
  if (pieces.dropped == 0) {
    whole = pieces.front + pieces.back;
    if (json_cost(whole) <= cost) return {std::move(whole), false};
    front = back = whole;
  }
  const std::size_t room = cost > kLine ? cost - kLine : 0;
  const std::size_t had = pieces.front.size() + pieces.back.size();
  front = beginning_of(front, room * 2 / 5);
  if (pieces.dropped == 0) back.remove_prefix(front.size());
  back = end_of(back, room - json_cost(front));
  const std::uint64_t left_out = pieces.dropped + (had - front.size() - back.size());
  return {std::string(front) + missing(left_out) + std::string(back), true};
}

}  // namespace cordon::mcp
