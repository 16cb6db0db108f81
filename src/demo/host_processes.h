// The processes of the host, as somebody outside of every sandbox sees them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cordon::demo {

// Those, whatever their namespace, that carry the word in their command line. Nothing if this
// process itself is not to be seen: then the list is not to be believed.
std::optional<std::vector<std::string>> processes_with(const std::string& word);

}  // namespace cordon::demo
