// Moving between file systems: copy, then delete. Regular files and directories are copied without
// set-id bits, symlinks verbatim; FIFOs, sockets and devices are not copied, only removed.
#pragma once

#include <string>

namespace cordon {

// 0, or the errno of what failed. If the copy fails nothing is left at the destination and the
// source is as it was. EEXIST if the destination is taken. Trees deeper than 128 levels give ELOOP.
int move_by_copy(int from, const std::string& name, int into, const std::string& as);
// From where `from` stands to its end; 0 or errno.
int copy_bytes(int from, int to);
// Removes a tree without following a symlink; 0 or errno.
int remove_tree(int directory, const std::string& name);

}  // namespace cordon
