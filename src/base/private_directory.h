// Directories of Cordon's own state and configuration: owner-only, made on first use.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cordon {

// What a directory is for: errors name the variable that says where it lies.
enum class DirectoryUse { State, Configuration };

// Opens `path`, making it and its missing parents 0700. Refuses one that is a symlink, belongs to
// another user, or that others may write. One that is there keeps its mode.
Result<Fd> open_private_directory(const std::string& path, DirectoryUse use = DirectoryUse::State);
// Makes `path` and its missing parents 0700; what is there is left as it is.
Result<void> make_private_directories(const std::string& path,
                                      DirectoryUse use = DirectoryUse::State);

}  // namespace cordon
