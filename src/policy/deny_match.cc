#include "policy/deny_match.h"

#include "base/path.h"

namespace cordon {

bool deny_matches(const DenyGlob& deny, std::string_view path) {
  if (deny.anchor.empty()) return glob_match(deny.pattern, path);
  if (deny.pattern.empty()) return path == deny.anchor;
  if (path == deny.anchor || !contains(deny.anchor, path)) return false;
  const std::string_view below = path.substr(deny.anchor == "/" ? 1 : deny.anchor.size() + 1);
  const bool one_component = deny.pattern.find('/') == std::string::npos;
  if (one_component && below.find('/') != std::string_view::npos) return false;
  return glob_match(deny.pattern, below);
}

}  // namespace cordon
