#include "host/tree_removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "host/directory_names.h"

namespace cordon {
namespace {

// Directories are moved up to the top before they are emptied, so that no depth needs more than two
// descriptors or a longer path.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  bool empty_top() {
    for (;;) {
      if (::lseek(top_, 0, SEEK_SET) < 0 || !names_.read(top_)) return false;
      if (names_.entries().empty()) return true;
      std::vector<std::string> entries;
      for (const DirectoryEntry& entry : names_.entries()) entries.emplace_back(entry.name);
      for (const std::string& entry : entries) {
        if (!remove(entry)) return false;
      }
    }
  }

 private:
  bool remove(const std::string& name) {
    if (::unlinkat(top_, name.c_str(), 0) == 0) return true;
    if (errno != EISDIR && errno != EPERM) return errno == ENOENT;
    const Fd directory = open_at(top_, name);
    if (!directory.valid()) return false;
    if (!raise_directories(directory.get())) return false;
    return ::unlinkat(top_, name.c_str(), AT_REMOVEDIR) == 0;
  }

  static Fd open_at(int above, const std::string& name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    // Its owner may have taken every right away, and moving it needs the right to write it.
    const Fd found(::openat(above, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const std::string link = "/proc/self/fd/" + std::to_string(found.get());
    if (found.valid()) (void)::chmod(link.c_str(), 0700);
    return Fd(::openat(above, name.c_str(), kFlags));
  }

  bool raise_directories(int directory) {
    if (!names_.read(directory)) return false;
    std::vector<std::string> entries;
    for (const DirectoryEntry& entry : names_.entries()) entries.emplace_back(entry.name);
    for (const std::string& entry : entries) {
      if (::unlinkat(directory, entry.c_str(), 0) == 0) continue;
      if (errno != EISDIR && errno != EPERM) return false;
      (void)open_at(directory, entry);
      if (!raise(directory, entry)) return false;
    }
    return true;
  }

  // Under a name that is free: an earlier removal may have been interrupted.
  bool raise(int directory, const std::string& entry) {
    for (;;) {
      const std::string name = "raised-" + std::to_string(next_++);
      if (::renameat(directory, entry.c_str(), top_, name.c_str()) == 0) return true;
      if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return false;
    }
  }

  int top_;
  std::uint64_t next_ = 0;
  DirectoryNames names_;
};

}  // namespace

bool remove_private_tree(const std::string& path) {
  const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top.valid()) return errno == ENOENT;
  return Removal(top.get()).empty_top() && ::rmdir(path.c_str()) == 0;
}

}  // namespace cordon
