#include "config/decode.h"
#include "config/path_entry.h"

namespace cordon {

Result<void> append_paths(const Section& section, std::string_view key, PathUse use,
                          const std::string& base, std::vector<PathRule>& rules) {
  CORDON_TRY(entries, section.texts(key));
  for (const PlacedText& entry : entries) {
    if (auto legal = check_path_entry(*entry.text, use); !legal) {
      return fail(placed(section, *entry.node, std::move(legal).error()));
    }
    rules.push_back(PathRule{*entry.text, base});
  }
  return {};
}

}  // namespace cordon
