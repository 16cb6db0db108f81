// GitWatch: notices that a `commondir` appears in a git directory. With that pointer the host's git
// would take its configuration, and so its commands, from elsewhere on a plain `git status`.
//
// It looks at a few names every now and then rather than through inotify: closing an inotify
// instance waits for a grace period of the kernel, which costs every run in a repository 15 ms.
#pragma once

#include <string>
#include <vector>

namespace cordon {

class GitWatch {
 public:
  // Made before the command starts; what is there already is not news.
  explicit GitWatch(const std::vector<std::string>& directories);
  [[nodiscard]] bool watches() const { return !names_.empty(); }
  [[nodiscard]] bool commondir_appeared() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace cordon
