// Reading a file as a whole, and knowing later whether it is still the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::mcp {

// Results with an errno.
template <typename T>
using Or = tl::expected<T, int>;

Or<std::string> read_bytes(int descriptor, std::size_t limit);
int write_bytes(int descriptor, std::string_view bytes);  // 0 or an errno

// Which version of a file it was.
struct Version {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  // ctime: no program can set it back
  bool operator==(const Version&) const = default;
};
struct WholeFile {
  std::string content;  // at most the limit
  Version version;
};
// Never through a link, and without waiting for a FIFO's writer. EISDIR, EINVAL for what is not
// regular.
Or<WholeFile> read_whole(const std::string& path, std::size_t limit);
// ENOENT if it is not there.
Or<Version> version_of(const std::string& path);

// Held by whoever changes the file, so that two servers do not overwrite what the other has just
// written. It lies on the directory, since a file is replaced by another one; on the file itself
// where the directory cannot be opened. EAGAIN if somebody holds it for longer than two seconds.
Or<Fd> lock_for_change(const std::string& path);

}  // namespace cordon::mcp
