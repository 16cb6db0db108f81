#include <algorithm>

#include "host/git_layout.h"
#include "host/resolve.h"
#include "mcp/tools/bounds.h"

namespace cordon::mcp {

Shield shield_of(const Bounds& bounds, const std::string& canonical, Wish wish) {
  const std::vector<Approval> approved = approvals_of(bounds);
  Shield strictest = Shield::None;
  for (const Ceiling& ceiling : bounds.ceilings) {
    const auto resolved = resolve(ceiling, bounds.caller, approved);
    if (!resolved) return Shield::Denied;
    strictest = std::max(strictest, cordon::shield_of(*resolved, canonical));
  }
  // A file tool is granted the directory of the file alone, from which the repository around it is
  // not seen.
  HeldPlaces places;
  places.git = git_directories_above(canonical);
  if (is_in_git_part(canonical, places)) strictest = std::max(strictest, Shield::Protected);
  if (wish == Wish::Read && strictest == Shield::Protected) return Shield::None;
  return strictest;
}

}  // namespace cordon::mcp
