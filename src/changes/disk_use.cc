#include "changes/disk_use.h"

#include <sys/stat.h>

#include <fcntl.h>

#include <vector>

#include "changes/take.h"
#include "host/walk.h"

namespace cordon {
namespace {

class UseVisitor final : public TreeVisitor {
 public:
  explicit UseVisitor(std::uint64_t most) : left_(most) {}

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (left_ == 0) {
        use_.whole = false;
        return;
      }
      --left_;
      struct stat status {};
      const std::string name(entry.name);
      if (::fstatat(directory.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;
      }
      constexpr std::uint64_t kBlock = 512;
      use_.bytes += static_cast<std::uint64_t>(status.st_blocks) * kBlock;
      if (S_ISDIR(status.st_mode)) directory.descend(entry, 0);
    }
  }

  // Open as long as this lives: every look below needs the right to search it.
  Fd open_closed(const ClosedDirectory& closed) override {
    constexpr std::size_t kMostOpened = 200;
    if (opened_.size() < kMostOpened) {
      opened_.push_back(KeptDirectory::open(closed.parent, closed.name));
      if (opened_.back().valid()) {
        return Fd(::fcntl(opened_.back().get(), F_DUPFD_CLOEXEC, 0));
      }
    }
    use_.whole = false;
    return {};
  }

  [[nodiscard]] DiskUse& use() { return use_; }

 private:
  std::uint64_t left_;
  DiskUse use_;
  std::vector<KeptDirectory> opened_;
};

}  // namespace

DiskUse disk_use(const std::string& directory, std::uint64_t most) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) return {};
  UseVisitor visitor(most);
  if (!walk_tree(directory, 0, visitor)) visitor.use().whole = false;
  return visitor.use();
}

}  // namespace cordon
