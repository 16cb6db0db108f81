// The hard-link search
//
// A mask or a hold is a mount, and a mount lies on one name. A file can have several:
//
//   ln ~/.netrc ~/project/notes        by the person, by a tool, long ago
//   cordon run -- cat notes            no mask lies on this name
//
// The kernel has no list of the names of a file; it counts them (st_nlink). So they are looked for,
// and only where a command could meet one:
//
//   1. Of everything that is masked or held, the files with more than one name are collected
//      (LinkedFiles); in a protected directory every file is examined. Mostly there is none, and
//      the search ends here.
//   2. If there are any, granted trees are walked once more (find_other_names): all of them for
//      what is masked, since seeing it is the harm, and the writable ones for what is held.
//   3. The walk examines almost nothing. readdir answers with the inode number of each entry, and
//      only an entry whose number is wanted is looked at. It counts if the device is the same too:
//      numbers repeat from one file system to the next.
//   4. Each name that is found gets the mask or the hold of the first one (survey.cc).
//
// Directories have no hard links. A bind mount gives a file or a directory a second name without
// being counted as a link; those names are in the table of mounts (mount_table.h).
//
// No further name can be made inside: both names of a link(2) have to lie in one mount, and what
// is masked or held is a mount of its own (EXDEV). A name that somebody makes on the host while the
// command runs is not seen.
//
// Protected directories with more files than a start has time to examine (kMostExamined) are
// refused: names of theirs could stay uncovered without anybody being told.
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
      const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
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
        const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
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
