// walk_tree: one getdents64 pass over a tree, directory by directory. It follows no symlink and
// crosses mount points (a submount of a grant is granted too).
//
// A hostile tree can be deep and wide, so nothing here grows with either but by a few bytes. No C
// stack is used per level. A bounded number of ancestors stays open; further up the way back is
// "..", compared by identity. There is one path, which grows and shrinks with the walk. Children
// that wait to be visited stand packed in one stack, those of the deepest directory on top. A
// directory with very many names is shown to the visitor in portions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "host/directory_names.h"
#include "policy/effective.h"

namespace cordon {

// One directory while it is being visited.
class WalkedDirectory {
 public:
  // What the visitor wants to know again when it meets this directory's children.
  using State = unsigned;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] FileId id() const { return id_; }
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const DirectoryNames& names() const { return *names_; }
  [[nodiscard]] std::span<const DirectoryEntry> entries() const { return names_->entries(); }
  // False: names() is a portion, and visit() is called again with the next one. What depends on
  // names that stand together has to be asked of the descriptor then.
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] const std::string& path() const;  // absolute; until visit() returns
  // Only children named here are visited, after this directory.
  void descend(const DirectoryEntry& entry, State state);

 private:
  friend class TreeWalk;
  int descriptor_ = -1;
  FileId id_;
  std::string_view name_;
  State state_ = 0;
  bool whole_ = true;
  const DirectoryNames* names_ = nullptr;
  class TreeWalk* walk_ = nullptr;
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
// error; a tree that is rearranged so that the way back up is lost is one. A directory whose path
// is longer than 16 MiB is not visited, and LookFailures knows.
Result<void> walk_tree(const std::string& root, WalkedDirectory::State state, TreeVisitor& visitor);
// The directory behind `descriptor`, whatever stands at its name by now; `path` is where it is.
Result<void> walk_tree(int descriptor, const std::string& path, WalkedDirectory::State state,
                       TreeVisitor& visitor);

}  // namespace cordon
