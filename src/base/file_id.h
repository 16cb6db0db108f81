#pragma once

#include <compare>
#include <cstdint>

namespace cordon {

// Which object a path named when it was looked at. A pin on it prevents inode reuse.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

}  // namespace cordon
