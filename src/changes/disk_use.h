// Disk use: what a tree of Cordon's own state takes on the disk. A run may have filled the tree, so
// neither its depth nor directories that were closed to their owner hide anything.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace cordon {

struct DiskUse {
  std::uint64_t bytes = 0;
  bool whole = true;  // false: there is more than was counted
};

// Nothing for what is not there. Stops after `most` entries.
DiskUse disk_use(const std::string& directory,
                 std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

}  // namespace cordon
