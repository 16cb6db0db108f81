#include "egress/made_inside.h"

#include <algorithm>

namespace cordon {

bool MadeInside::add(Fd file) {
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return false;
  if (entries_.size() >= kMost) drop_removed();
  if (entries_.size() >= kMost) return false;
  entries_.push_back({{status.st_dev, status.st_ino}, std::move(file)});
  return true;
}

bool MadeInside::holds(const FileId& id) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.id == id; });
}

// Nothing can be connected to by a name that is gone.
void MadeInside::drop_removed() {
  std::erase_if(entries_, [](const Entry& entry) {
    struct stat status {};
    return ::fstat(entry.file.get(), &status) < 0 || status.st_nlink == 0;
  });
}

}  // namespace cordon
