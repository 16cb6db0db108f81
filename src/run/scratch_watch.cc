#include "run/scratch_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "sys/calls.h"

namespace cordon {

std::uint64_t ScratchWatch::look() {
  std::uint64_t total = 0;
  std::vector<std::string> pending = {root_};
  while (!pending.empty()) {
    const std::string directory = std::move(pending.back());
    pending.pop_back();
    total += look_at(directory, pending);
  }
  return total;
}

std::uint64_t ScratchWatch::look_at(const std::string& directory,
                                    std::vector<std::string>& pending) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() || !names_.read(fd.get())) return 0;
  std::uint64_t total = 0;
  for (const DirectoryEntry& entry : names_.entries()) {
    const std::string name(entry.name);
    struct stat status {};
    if (::fstatat(fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
    // A file of several names is counted in equal parts, by each of them.
    const std::uint64_t names =
        S_ISREG(status.st_mode) && status.st_nlink > 1 ? status.st_nlink : 1;
    total += static_cast<std::uint64_t>(status.st_blocks) * sys::kBlockBytes / names;
    if (S_ISDIR(status.st_mode)) pending.push_back(join(directory, name));
  }
  return total;
}

}  // namespace cordon
