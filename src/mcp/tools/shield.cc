#include <algorithm>

#include "host/resolve.h"
#include "mcp/tools/bounds.h"

namespace cordon::mcp {

Shield shield_of(const Bounds& bounds, const std::string& canonical, Wish wish) {
  Shield strictest = Shield::None;
  for (const Ceiling& ceiling : bounds.ceilings) {
    const auto resolved = resolve(ceiling, bounds.caller);
    if (!resolved) return Shield::Denied;
    strictest = std::max(strictest, cordon::shield_of(*resolved, canonical));
  }
  if (wish == Wish::Read && strictest == Shield::Protected) return Shield::None;
  return strictest;
}

}  // namespace cordon::mcp
