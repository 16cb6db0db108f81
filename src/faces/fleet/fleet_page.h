// The sums about a fleet as one page for a browser, and as JSON. Both have the same rows: of each
// table those that come first, and what all others have together.
#pragma once

#include <string>
#include <vector>

#include "faces/fleet/fleet_sums.h"

namespace cordon {

struct FleetAsked {
  std::vector<std::string> from;  // as typed
  FleetSums::Range range;
};

std::string fleet_page(const FleetSums& sums, const FleetAsked& asked);
std::string fleet_json(const FleetSums& sums, const FleetAsked& asked);  // cordon.fleet-report/1

}  // namespace cordon
