// What was written to a private place and is gone with the run: counted and named, so that nobody
// looks for it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cordon {

struct Gone {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  // The first ten entries at the top with files in them, sorted. Caches are counted and not named:
  // who writes one expects nothing of it. In a private
  // /tmp the same goes for hidden names.
  std::vector<std::string> names;
};

// What stood there before the command began.
struct Given {
  std::string gitconfig;  // the content of .gitconfig
  // Paths that something is mounted on: grants, and one private place in another. Once the mounts
  // are gone with the run, empty files and directories are left there.
  std::set<std::string> mounted;
};

// `place` is the path of `directory` inside; other file systems that are mounted in it are not
// looked at, nor are sockets and FIFOs, which nobody looks for. Looks at no more than 100,000
// entries.
Gone gone_with(int directory, const std::string& place, const Given& given);

}  // namespace cordon
