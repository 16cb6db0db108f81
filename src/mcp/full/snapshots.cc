#include "mcp/full/snapshots.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostKept = 4;

}  // namespace

void Snapshots::keep(std::shared_ptr<const Snapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  if (start_ == nullptr) {
    start_ = std::move(snapshot);
    return;
  }
  later_.push_back(std::move(snapshot));
  if (later_.size() > kMostKept) later_.pop_front();
}

std::shared_ptr<const Snapshot> Snapshots::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  if (start_ != nullptr && (id == "start" || id == start_->id)) return start_;
  const auto found =
      std::ranges::find_if(later_, [&](const auto& snapshot) { return snapshot->id == id; });
  return found != later_.end() ? *found : nullptr;
}

std::vector<std::string> changes_between(const Snapshot& before, const Snapshot& after) {
  std::vector<std::string> changes;
  auto old_file = before.files.begin();
  auto new_file = after.files.begin();
  while (old_file != before.files.end() || new_file != after.files.end()) {
    const bool gone = new_file == after.files.end() ||
                      (old_file != before.files.end() && old_file->first < new_file->first);
    const bool made =
        !gone && (old_file == before.files.end() || new_file->first < old_file->first);
    if (gone) {
      changes.push_back("deleted " + sanitize(old_file->first));
      ++old_file;
      continue;
    }
    if (made) {
      changes.push_back("created " + sanitize(new_file->first));
    } else {
      if (old_file->second != new_file->second) {
        changes.push_back("changed " + sanitize(new_file->first));
      }
      ++old_file;
    }
    ++new_file;
  }
  return changes;
}

}  // namespace cordon::mcp
