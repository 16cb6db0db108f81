#include "mcp/full/listing.h"

#include "mcp/tools/excerpt.h"

namespace cordon::mcp {

Listing listing_of(const std::vector<std::string>& lines, const SecretMask& mask,
                   const Node& beside) {
  constexpr std::size_t kSlack = 400;  // for what is added with the listing
  const std::size_t used = write_json(beside, JsonStyle::Compact).size() + kSlack;
  std::size_t room = kResultBytes > used ? kResultBytes - used : 0;
  Listing listing;
  for (const std::string& line : lines) {
    auto masked = mask.mask(line + "\n");
    const std::size_t cost = json_cost(masked.text);
    if (cost > room && listing.lines > 0) break;
    listing.text += beginning_of(masked.text, room);
    listing.masked += masked.count;
    ++listing.lines;
    room -= std::min(room, cost);
  }
  return listing;
}

}  // namespace cordon::mcp
