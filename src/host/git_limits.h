// How much of git's own files is read: more than git writes, and little enough for a planted file.
#pragma once

#include <cstddef>

namespace cordon {

inline constexpr std::size_t kGitConfigLimit = std::size_t{1024} * 1024;
// Files that hold one path or name: .git, commondir, gitdir, HEAD.
inline constexpr std::size_t kGitPointerLimit = 8192;

}  // namespace cordon
