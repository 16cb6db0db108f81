#include "host/hard_links.h"

#include <set>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/system_entries.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr std::size_t kMostExamined = std::size_t{256} * 1024;

class LinkedFileSearch final : public TreeVisitor {
 public:
  LinkedFileSearch(std::map<FileId, std::string>& objects, std::size_t& examined)
      : objects_(objects), examined_(examined) {}

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (++examined_ > kMostExamined) return;
      if (entry.type == EntryType::Directory) directory.descend(entry, 0);
      if (entry.type != EntryType::Regular) continue;
      const auto seen = look(directory.descriptor(), std::string(entry.name));
      if (seen && seen->links > 1) objects_.emplace(seen->id, join(directory.path(), entry.name));
    }
  }

 private:
  std::map<FileId, std::string>& objects_;
  std::size_t& examined_;
};

class LinkSearch final : public TreeVisitor {
 public:
  explicit LinkSearch(const std::map<FileId, std::string>& objects) : objects_(objects) {
    for (const auto& [id, path] : objects) inodes_.insert(id.inode);
  }

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.type == EntryType::Directory) {
        const bool below_root = directory.name().empty();  // only "/" has no name
        if (below_root && is_kernel_tree(join("/", entry.name))) continue;
        directory.descend(entry, 0);
      } else if (inodes_.contains(entry.inode)) {
        const auto seen = look(directory.descriptor(), std::string(entry.name));
        const auto object = seen ? objects_.find(seen->id) : objects_.end();
        if (object == objects_.end()) continue;
        std::string path = join(directory.path(), entry.name);
        if (path != object->second) found.push_back({std::move(path), seen->id});
      }
    }
  }

  std::vector<OtherName> found;

 private:
  const std::map<FileId, std::string>& objects_;
  std::set<std::uint64_t> inodes_;
};

}  // namespace

Result<void> LinkedFiles::add(const std::string& path, FileKind kind) {
  if (kind == FileKind::Regular) {
    const auto seen = inspect_path(path);
    if (seen && seen->links > 1) objects_.emplace(seen->id, path);
  }
  if (kind != FileKind::Directory) return {};
  LinkedFileSearch search(objects_, examined_);
  CORDON_CHECK(walk_tree(path, 0, search));
  if (examined_ <= kMostExamined) return {};
  return fail(policy_error("protected directories hold more than " + std::to_string(kMostExamined) +
                               " files, too many to look for hard links to them: " + quote(path),
                           "grant a smaller tree"));
}

Result<std::vector<OtherName>> find_other_names(const std::vector<const Grant*>& roots,
                                                const std::map<FileId, std::string>& objects) {
  LinkSearch search(objects);
  for (const Grant* root : roots) CORDON_CHECK(walk_tree(root->path, 0, search));
  return std::move(search.found);
}

}  // namespace cordon
