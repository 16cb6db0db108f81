// Moving between file systems: copy, then delete. Regular files and directories are copied without
// set-id bits, symlinks verbatim; FIFOs, sockets and devices are not copied, only removed. Holes in
// a file stay holes: a planted file of a terabyte may hold nothing at all.
#pragma once

#include <cstdint>
#include <string>

namespace cordon {

// What may still be copied. A tree that contained code has filled is not to fill the disk that
// Cordon's state lies on.
struct CopyBudget {
  std::uint64_t bytes = std::uint64_t{256} << 20U;  // of content, not of holes
  std::uint64_t objects = 100'000;
};

// 0, or the errno of what failed. If the copy fails nothing is left at the destination, the source
// and the budget are as they were. EEXIST if the destination is taken. Trees deeper than 128 levels
// give ELOOP, more than the budget EFBIG.
int move_by_copy(int from, const std::string& name, int into, const std::string& as,
                 CopyBudget& budget);
// From where `from` stands to its end; 0 or errno.
int copy_bytes(int from, int to);
// Removes a tree without following a symlink; 0 or errno.
int remove_tree(int directory, const std::string& name);

// Removing a tree that contained code has filled, after everything that could change it is dead.

// True if nothing is left of it. Symlinks are removed, never followed; depth, modes and names that
// were chosen to stop a removal do not.
bool remove_private_tree(const std::string& path);

}  // namespace cordon
