#include "policy/own_places.h"

#include "base/path.h"

namespace cordon {

bool is_own(std::string_view path, const HostFacts& facts) {
  const std::string_view top = path.substr(0, path.find('/', 1));
  return lists(kOwnDirectories, top) ||
         std::any_of(facts.system.begin(), facts.system.end(),
                     [&](const SystemEntry& entry) { return entry.path == top; });
}

bool shows(std::string_view granted, std::string_view path, const HostFacts& facts) {
  return contains(granted, path) && (granted != "/" || !is_own(path, facts));
}

}  // namespace cordon
