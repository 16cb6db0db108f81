#include "host/moved_ways.h"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "host/look.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr std::size_t kMostWays = 64;

class WaySearch final : public TreeVisitor {
 public:
  explicit WaySearch(const std::map<FileId, std::string>& moved) : moved_(moved) {
    for (const auto& [id, path] : moved) inodes_.insert(id.inode);
  }

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.type != EntryType::Directory || found.size() == kMostWays) continue;
      if (inodes_.contains(entry.inode)) examine(directory, std::string(entry.name));
      directory.descend(entry, 0);
    }
  }

  std::vector<MovedWay> found;

 private:
  void examine(const WalkedDirectory& directory, std::string name) {
    const auto seen = look(directory.descriptor(), name);
    const auto moved = seen ? moved_.find(seen->id) : moved_.end();
    if (moved == moved_.end()) return;
    Fd above(::openat(directory.descriptor(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (above.valid())
      found.push_back({moved->second, moved->first, std::move(above), std::move(name)});
  }

  const std::map<FileId, std::string>& moved_;
  std::set<std::uint64_t> inodes_;
};

}  // namespace

std::vector<MovedWay> find_moved_ways(std::span<const std::string> roots,
                                      const std::map<FileId, std::string>& moved) {
  WaySearch search(moved);
  // A tree that is rearranged meanwhile is searched as far as it goes.
  for (const std::string& root : roots) (void)walk_tree(root, 0, search);
  std::ranges::sort(search.found, {}, &MovedWay::path);
  return std::move(search.found);
}

}  // namespace cordon
