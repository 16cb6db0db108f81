#include "run/git_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/path.h"

namespace cordon {
namespace {

bool is_there(const std::string& path) {
  struct stat status {};
  return ::fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

GitWatch::GitWatch(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::string name = join(directory, "commondir");
    if (!is_there(name)) names_.push_back(std::move(name));
  }
}

bool GitWatch::commondir_appeared() const {
  return std::any_of(names_.begin(), names_.end(), is_there);
}

}  // namespace cordon
