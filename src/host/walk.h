// walk_tree: one getdents64 pass over a tree, directory by directory. It follows no symlink,
// crosses mount points (a submount of a grant is granted too), knows no depth limit, keeps a
// bounded number of descriptors open, and uses no C stack per level: a hostile tree can be deep.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "cordon/result.h"
#include "host/directory_names.h"
#include "policy/effective.h"

namespace cordon {

// One directory while it is being visited.
class WalkedDirectory {
 public:
  // What the visitor wants to know again when it meets this directory's children.
  using State = unsigned;
  struct Child {
    std::string name;
    State state;
  };

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] FileId id() const { return id_; }
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const DirectoryNames& names() const { return *names_; }
  [[nodiscard]] std::span<const DirectoryEntry> entries() const { return names_->entries(); }
  [[nodiscard]] const std::string& path() const;  // absolute, made on first use
  // Only children named here are visited, after this directory.
  void descend(const DirectoryEntry& entry, State state) {
    children_.push_back({std::string(entry.name), state});
  }

 private:
  friend class TreeWalk;
  int descriptor_ = -1;
  FileId id_;
  std::string_view name_;
  State state_ = 0;
  const DirectoryNames* names_ = nullptr;
  std::vector<Child> children_;
  const class TreeWalk* walk_ = nullptr;
  mutable std::string path_;
};

struct ClosedDirectory {
  int parent = -1;
  std::string name;
  std::string path;
};

class TreeVisitor {
 public:
  TreeVisitor() = default;
  TreeVisitor(const TreeVisitor&) = delete;
  TreeVisitor& operator=(const TreeVisitor&) = delete;
  virtual ~TreeVisitor() = default;
  virtual void visit(WalkedDirectory& directory) = 0;
  // A directory whose permissions keep the caller from listing or searching it. A valid descriptor
  // makes the walk go on there.
  virtual Fd open_closed(const ClosedDirectory& closed);
};

// `root` is the canonical path of a directory. One that stays closed is visited by nobody and is no
// error; a tree that is rearranged so that the way back up is lost is one.
Result<void> walk_tree(const std::string& root, WalkedDirectory::State state, TreeVisitor& visitor);

}  // namespace cordon
