#include "loop/tree_mark.h"

#include "base/path.h"
#include "host/look.h"
#include "host/walk.h"

namespace cordon::loop {
namespace {

// Entries are combined without regard to their order, which a file system may change.
class Marker final : public TreeVisitor {
 public:
  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.name == ".git") continue;
      const auto seen = look(directory.descriptor(), std::string(entry.name));
      if (!seen) continue;
      if (seen->kind == FileKind::Directory) {
        directory.descend(entry, 0);
        add(join(directory.path(), entry.name), 0, 0);
      } else {
        add(join(directory.path(), entry.name), seen->size, seen->changed_ns);
      }
    }
  }

  [[nodiscard]] std::string mark() const {
    return std::to_string(sum_) + "/" + std::to_string(count_);
  }

 private:
  void add(const std::string& path, std::uint64_t size, std::int64_t changed_ns) {
    const std::string text = path + '\0' + std::to_string(size) + '\0' + std::to_string(changed_ns);
    sum_ += std::hash<std::string>{}(text);
    ++count_;
  }

  std::uint64_t sum_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

Result<std::string> tree_mark(const std::string& project) {
  Marker marker;
  CORDON_CHECK(walk_tree(project, 0, marker));
  return marker.mark();
}

}  // namespace cordon::loop
