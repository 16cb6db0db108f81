// Snapshots: which files a workspace had, and in which version, at some moments. Safe for
// concurrent use.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cordon::mcp {

struct Snapshot {
  std::string id;
  std::map<std::string, std::string> files;  // path -> version
  bool incomplete = false;
};

class Snapshots {
 public:
  // The first one that is kept is what "start" means.
  void keep(std::shared_ptr<const Snapshot> snapshot);
  // By its id or "start"; null: unknown or forgotten.
  [[nodiscard]] std::shared_ptr<const Snapshot> find(const std::string& id) const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> start_;
  std::deque<std::shared_ptr<const Snapshot>> later_;
};

// "created PATH", "changed PATH", "deleted PATH", sorted by path.
std::vector<std::string> changes_between(const Snapshot& before, const Snapshot& after);

}  // namespace cordon::mcp
