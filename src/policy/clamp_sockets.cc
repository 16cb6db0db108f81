#include "policy/clamp_parts.h"

namespace cordon::detail {
namespace {

bool permits_socket(const ResolvedCeiling& ceiling, const Grant& socket) {
  if (!ceiling.ceiling.bounds_net) return true;
  return std::any_of(ceiling.sockets.begin(), ceiling.sockets.end(), [&](const Grant& listed) {
    return listed.path == socket.path && listed.id == socket.id;
  });
}

}  // namespace

void clamp_sockets(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions) {
  for (const Grant& socket : request.sockets) {
    const bool permitted = std::all_of(
        ceilings.begin(), ceilings.end(),
        [&](const ResolvedCeiling& ceiling) { return permits_socket(ceiling, socket); });
    if (permitted) {
      result.sockets.push_back(socket);
    } else {
      reductions.push_back(
          {"sockets", socket.written, std::nullopt, Reduction::Because::OutsideCeiling});
    }
  }
  std::sort(result.sockets.begin(), result.sockets.end(),
            [](const Grant& a, const Grant& b) { return a.path < b.path; });
  const auto same = [](const Grant& a, const Grant& b) { return a.path == b.path; };
  result.sockets.erase(std::unique(result.sockets.begin(), result.sockets.end(), same),
                       result.sockets.end());
}

}  // namespace cordon::detail
