#include "changes/gone.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/path.h"
#include "host/directory_names.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr std::uint64_t kMostGone = 100000;
constexpr std::size_t kMostNamesTold = 10;
constexpr int kDeepestGone = 64;

struct Sum {
  const Given& given;
  dev_t device = 0;
  std::uint64_t entries = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

void add(int directory, const std::string& name, const std::string& path, int depth, Sum& sum) {
  struct stat status {};
  if (++sum.entries > kMostGone || depth > kDeepestGone ||
      ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0 ||
      status.st_dev != sum.device) {
    return;
  }
  if (!S_ISDIR(status.st_mode)) {
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return;
    if (status.st_size == 0 && sum.given.mounted.contains(path)) return;
    ++sum.files;
    sum.bytes += static_cast<std::uint64_t>(status.st_size);
    return;
  }
  if (sum.given.mounted.contains(path)) return;
  const Fd fd(::openat(directory, name.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  DirectoryNames names;
  if (!fd.valid() || !names.read(fd.get())) return;
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string child(entry.name);
    add(fd.get(), child, join(path, child), depth + 1, sum);
  }
}

}  // namespace

Gone gone_with(int directory, const std::string& place, const Given& given) {
  Gone gone;
  struct stat status {};
  DirectoryNames names;
  if (::fstat(directory, &status) != 0 || ::lseek(directory, 0, SEEK_SET) != 0 ||
      !names.read(directory)) {
    return gone;
  }
  std::vector<std::string> sorted;
  for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
  std::ranges::sort(sorted);
  Sum sum{given, status.st_dev};
  const bool is_tmp = place == "/tmp" || place == "/var/tmp";
  for (const std::string& name : sorted) {
    if (name == ".gitconfig" && !is_tmp &&
        read_regular(directory, name, given.gitconfig.size() + 1) == given.gitconfig) {
      continue;
    }
    const std::uint64_t before = sum.files;
    add(directory, name, join(place, name), 1, sum);
    const bool quiet = is_tmp ? name.starts_with('.') : name == ".cache";
    const bool named = sum.files > before && !quiet;
    if (named && gone.names.size() < kMostNamesTold) gone.names.push_back(name);
  }
  gone.files = sum.files;
  gone.bytes = sum.bytes;
  return gone;
}

}  // namespace cordon
