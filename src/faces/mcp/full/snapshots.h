// Snapshots: which files a workspace had, and in which version, at some moments. Safe for
// concurrent use.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cordon::mcp {

struct SurveyedFile {
  std::string version;
  std::shared_ptr<const std::string> text;  // null: binary, large, or past what is kept
};

struct Snapshot {
  std::string id;
  std::chrono::steady_clock::time_point taken;
  std::map<std::string, SurveyedFile> files;  // by path
  bool incomplete = false;
};

class Snapshots {
 public:
  // The first one that is kept is what "start" means. Texts that the start has too are kept once.
  void keep(std::shared_ptr<Snapshot> snapshot);
  // By its id or "start"; null: unknown or forgotten.
  [[nodiscard]] std::shared_ptr<const Snapshot> find(const std::string& id) const;
  // The latest that was complete at that time; null: none was.
  [[nodiscard]] std::shared_ptr<const Snapshot> before(
      std::chrono::steady_clock::time_point time) const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> start_;
  std::deque<std::shared_ptr<const Snapshot>> later_;
};

struct FileChange {
  enum class Kind { Created, Changed, Deleted };
  Kind kind = Kind::Changed;
  std::string path;
  std::shared_ptr<const std::string> before;  // null: there was none, or its text was not kept
  std::shared_ptr<const std::string> after;
};
// Sorted by path. `below` is a path of the workspace; empty: all of it.
std::vector<FileChange> changes_between(const Snapshot& before, const Snapshot& after,
                                        const std::string& below);

// "created PATH", "changed PATH", "deleted PATH".
std::string change_line(const FileChange& change);
// In unified form, with its end of line; change_line and a reason where a text was not kept.
std::string change_patch(const FileChange& change);

}  // namespace cordon::mcp
