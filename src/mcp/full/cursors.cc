#include "mcp/full/cursors.h"

#include <sys/random.h>

#include <span>

#include "base/sha256.h"
#include "base/text.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kSealBytes = 12;

}  // namespace

Cursors::Cursors() {
  std::size_t done = 0;
  while (done < key_.size()) {
    const ssize_t got = ::getrandom(key_.data() + done, key_.size() - done, 0);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}

std::string Cursors::seal(std::string_view subject, std::string_view place) const {
  const Digest digest = hmac_sha256(key_, std::string(place).append("\n").append(subject));
  return to_hex(std::span(digest).first(kSealBytes));
}

std::string Cursors::make(std::string_view subject, Place place) const {
  const std::string text = std::to_string(place.first) + "-" + std::to_string(place.second);
  return text + "-" + seal(subject, text);
}

std::optional<Cursors::Place> Cursors::read(std::string_view subject,
                                            std::string_view cursor) const {
  const std::vector<std::string_view> parts = split(cursor, '-');
  if (parts.size() != 3) return std::nullopt;
  const auto first = parse_number(parts[0]);
  const auto second = parse_number(parts[1]);
  if (!first || !second) return std::nullopt;
  const Place place{*first, *second};
  // Compared as a whole: numbers with leading zeros are not what was given out.
  if (make(subject, place) != cursor) return std::nullopt;
  return place;
}

}  // namespace cordon::mcp
