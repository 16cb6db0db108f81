// Removing a tree that contained code has filled, after everything that could change it is dead.
#pragma once

#include <string>

namespace cordon {

// True if nothing is left of it. Symlinks are removed, never followed; depth, modes and names that
// were chosen to stop a removal do not.
bool remove_private_tree(const std::string& path);

}  // namespace cordon
