#include "host/hard_links.h"

#include <set>

#include "base/path.h"
#include "host/look.h"
#include "host/walk.h"

namespace cordon {
namespace {

class LinkSearch final : public TreeVisitor {
 public:
  explicit LinkSearch(const std::map<FileId, std::string>& objects) : objects_(objects) {
    for (const auto& [id, path] : objects) inodes_.insert(id.inode);
  }

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.type == EntryType::Directory) {
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

Result<std::vector<OtherName>> find_other_names(const std::vector<const Grant*>& roots,
                                                const std::map<FileId, std::string>& objects) {
  LinkSearch search(objects);
  for (const Grant* root : roots) CORDON_CHECK(walk_tree(root->path, 0, search));
  return std::move(search.found);
}

}  // namespace cordon
