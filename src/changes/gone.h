// What was written to a private place and is gone with the run: counted and named, so that nobody
// looks for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

struct Gone {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  // The first ten entries at the top with files in them, sorted. Caches are counted and not named:
  // who writes one expects nothing of it.
  std::vector<std::string> names;
};

// `home` is the directory; other file systems that are mounted in it are not looked at. `given` is
// the content that its .gitconfig began with. Looks at no more than 100,000 entries.
Gone gone_with(int home, std::string_view given);

}  // namespace cordon
