#include "faces/mcp/full/snapshots.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "faces/mcp/inside/line_diff.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostSnapshots = 4;
constexpr std::size_t kMostPatch = std::size_t{512} << 10U;  // more than two texts make

std::string_view word_of(FileChange::Kind kind) {
  switch (kind) {
    case FileChange::Kind::Created:
      return "created";
    case FileChange::Kind::Changed:
      return "changed";
    case FileChange::Kind::Deleted:
      return "deleted";
  }
  return "";
}

void share_texts(const Snapshot& with, Snapshot& snapshot) {
  for (auto& [path, file] : snapshot.files) {
    const auto known = with.files.find(path);
    if (known != with.files.end() && known->second.version == file.version) {
      file.text = known->second.text;
    }
  }
}

}  // namespace

void Snapshots::keep(std::shared_ptr<Snapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  if (start_ == nullptr) {
    start_ = std::move(snapshot);
    return;
  }
  share_texts(*start_, *snapshot);
  later_.push_back(std::move(snapshot));
  if (later_.size() > kMostSnapshots) later_.pop_front();
}

std::shared_ptr<const Snapshot> Snapshots::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  if (start_ != nullptr && (id == "start" || id == start_->id)) return start_;
  const auto found =
      std::ranges::find_if(later_, [&](const auto& snapshot) { return snapshot->id == id; });
  return found != later_.end() ? *found : nullptr;
}

std::shared_ptr<const Snapshot> Snapshots::before(
    std::chrono::steady_clock::time_point time) const {
  const std::lock_guard lock(mutex_);
  for (auto snapshot = later_.rbegin(); snapshot != later_.rend(); ++snapshot) {
    if ((*snapshot)->taken <= time) return *snapshot;
  }
  return start_ != nullptr && start_->taken <= time ? start_ : nullptr;
}

std::vector<FileChange> changes_between(const Snapshot& before, const Snapshot& after,
                                        const std::string& below) {
  using Kind = FileChange::Kind;
  std::vector<FileChange> changes;
  const auto add = [&](Kind kind, const std::string& path, const SurveyedFile* was,
                       const SurveyedFile* is) {
    if (!below.empty() && !contains("/" + below, "/" + path)) return;
    changes.push_back(
        {kind, path, was != nullptr ? was->text : nullptr, is != nullptr ? is->text : nullptr});
  };
  auto old_file = before.files.begin();
  auto new_file = after.files.begin();
  while (old_file != before.files.end() || new_file != after.files.end()) {
    const bool gone = new_file == after.files.end() ||
                      (old_file != before.files.end() && old_file->first < new_file->first);
    const bool made =
        !gone && (old_file == before.files.end() || new_file->first < old_file->first);
    if (gone) {
      add(Kind::Deleted, old_file->first, &old_file->second, nullptr);
      ++old_file;
      continue;
    }
    if (made) {
      add(Kind::Created, new_file->first, nullptr, &new_file->second);
    } else {
      if (old_file->second.version != new_file->second.version) {
        add(Kind::Changed, new_file->first, &old_file->second, &new_file->second);
      }
      ++old_file;
    }
    ++new_file;
  }
  return changes;
}

std::string change_line(const FileChange& change) {
  return std::string(word_of(change.kind)).append(" ").append(sanitize(change.path));
}

std::string change_patch(const FileChange& change) {
  const bool was = change.kind != FileChange::Kind::Created;
  const bool is = change.kind != FileChange::Kind::Deleted;
  if ((was && change.before == nullptr) || (is && change.after == nullptr)) {
    return change_line(change) + " (no patch: not text, too large, or not kept)\n";
  }
  const std::string before = was ? *change.before : std::string();
  const std::string after = is ? *change.after : std::string();
  const std::string path = sanitize(change.path);
  const std::string header = std::string("--- ")
                                 .append(was ? "a/" + path : "/dev/null")
                                 .append("\n+++ ")
                                 .append(is ? "b/" + path : "/dev/null")
                                 .append("\n");
  const std::string lines = line_diff(before, after, kMostPatch);
  // An empty file, or one of which only the mode or the inode changed.
  if (lines.empty()) return change_line(change) + " (the same text)\n";
  return header + sanitize_lines(lines);
}

}  // namespace cordon::mcp
