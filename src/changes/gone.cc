#include "changes/gone.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "host/directory_names.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr std::uint64_t kMostGone = 100000;
constexpr std::size_t kMostNamesTold = 10;
constexpr int kDeepestGone = 64;

struct Sum {
  dev_t device = 0;
  std::uint64_t entries = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

void add(int directory, const std::string& name, int depth, Sum& sum) {
  struct stat status {};
  if (++sum.entries > kMostGone || depth > kDeepestGone ||
      ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0 ||
      status.st_dev != sum.device) {
    return;
  }
  if (!S_ISDIR(status.st_mode)) {
    ++sum.files;
    sum.bytes += static_cast<std::uint64_t>(status.st_size);
    return;
  }
  const Fd fd(::openat(directory, name.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  DirectoryNames names;
  if (!fd.valid() || !names.read(fd.get())) return;
  for (const DirectoryEntry& entry : names.entries()) {
    add(fd.get(), std::string(entry.name), depth + 1, sum);
  }
}

}  // namespace

Gone gone_with(int home, std::string_view given) {
  Gone gone;
  struct stat status {};
  DirectoryNames names;
  if (::fstat(home, &status) != 0 || ::lseek(home, 0, SEEK_SET) != 0 || !names.read(home)) {
    return gone;
  }
  std::vector<std::string> sorted;
  for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
  std::ranges::sort(sorted);
  Sum sum{status.st_dev};
  for (const std::string& name : sorted) {
    if (name == ".gitconfig" && read_regular(home, name, given.size() + 1) == std::string(given)) {
      continue;
    }
    const std::uint64_t before = sum.files;
    add(home, name, 1, sum);
    const bool named = sum.files > before && name != ".cache";
    if (named && gone.names.size() < kMostNamesTold) gone.names.push_back(name);
  }
  gone.files = sum.files;
  gone.bytes = sum.bytes;
  return gone;
}

}  // namespace cordon
