// way_to: what a lookup passes on its way to a path.
#pragma once

#include <string>
#include <vector>

namespace cordon {

// Every directory and symlink that is passed, by the name it has without symlinks, the end
// included; as far as it exists. Ends where a loop of links would.
std::vector<std::string> way_to(const std::string& path);

}  // namespace cordon
