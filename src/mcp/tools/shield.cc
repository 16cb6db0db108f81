#include <algorithm>

#include "base/path.h"
#include "host/resolve.h"
#include "mcp/tools/bounds.h"
#include "policy/deny_match.h"
#include "policy/protected_names.h"

namespace cordon::mcp {
namespace {

// The operator's own grant that a path belongs to: the longest one. Empty: none.
std::string root_above(const ResolvedCeiling& ceiling, std::string_view path) {
  std::string root;
  for (const auto* list : {&ceiling.read, &ceiling.write}) {
    for (const Grant& grant : *list) {
      if (contains(grant.path, path) && grant.path.size() > root.size()) root = grant.path;
    }
  }
  return root;
}

bool is_protected(std::string_view path, const Caller& caller) {
  const std::string_view name = basename(path);
  const std::string_view above = parent(path);
  if (name == ".git") return true;
  const ProtectedName* found = find_protected(basename(above), name);
  if (found == nullptr || found->action != HoldAction::Hold) return false;
  return !found->home_only || std::ranges::find(caller.homes, above) != caller.homes.end();
}

bool is_denied(std::string_view path, const std::vector<DenyGlob>& denies) {
  return std::ranges::any_of(denies,
                             [&](const DenyGlob& deny) { return deny_matches(deny, path); });
}

}  // namespace

Shield shield_of(const Bounds& bounds, const std::string& canonical, Wish wish) {
  for (const Ceiling& ceiling : bounds.ceilings) {
    const auto resolved = resolve(ceiling, bounds.caller);
    if (!resolved) return Shield::Denied;
    const std::string root = root_above(*resolved, canonical);
    if (root.empty()) continue;
    for (std::string_view path = canonical; path != root && path != "/"; path = parent(path)) {
      if (is_denied(path, resolved->deny)) return Shield::Denied;
      if (wish == Wish::Write && is_protected(path, bounds.caller)) return Shield::Protected;
    }
  }
  return Shield::None;
}

}  // namespace cordon::mcp
