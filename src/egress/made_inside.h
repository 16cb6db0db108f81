// MadeInside: the socket files that a sandbox made in directories it shares with the host. Each is
// held open, so its inode cannot pass to another file: what has the same identity is the same file,
// whatever it is called by now.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <vector>

#include "base/fd.h"
#include "policy/effective.h"

namespace cordon {

// Not thread-safe.
class MadeInside {
 public:
  // Each takes a descriptor of the supervisor, which may serve other sandboxes too.
  static constexpr std::size_t kMost = 64;

  // False if there are too many: this one will be a stranger.
  bool add(Fd file);
  [[nodiscard]] bool holds(const FileId& id) const;

 private:
  struct Entry {
    FileId id;
    Fd file;
  };
  void drop_removed();

  std::vector<Entry> entries_;
};

}  // namespace cordon
