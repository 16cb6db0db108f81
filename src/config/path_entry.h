// What may stand in a path list, judged by its spelling alone. Whether it exists, and what it
// means behind symlinks, is for the host to find out.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cordon {

enum class PathUse { Read, Write, Deny, Socket };

// Refuses what no list may hold: an empty path, control bytes, over-long paths, "~user", ".."
// behind "~", unknown "@" words, and a writable root or system. The error has no place yet.
Result<void> check_path_entry(std::string_view text, PathUse use);
// True for every spelling of the root directory: "/", "//", "/.", "/..".
bool is_root_spelling(std::string_view text);

}  // namespace cordon
