// GitWatch: notices that a `commondir` appears in a git directory. With that pointer the host's git
// would take its configuration, and so its commands, from elsewhere on a plain `git status`.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace cordon {

class GitWatch {
 public:
  explicit GitWatch(const std::vector<std::string>& directories);
  // Readable when something appeared; negative if nothing is watched.
  [[nodiscard]] int descriptor() const { return inotify_.get(); }

 private:
  Fd inotify_;
};

// Reads what is pending; true if the forbidden name was among it.
bool commondir_appeared(int descriptor);

}  // namespace cordon
