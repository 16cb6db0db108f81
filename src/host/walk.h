// walk_tree: one getdents64 pass over a tree, directory by directory. It follows no symlink and
// crosses mount points (a submount of a grant is granted too).
//
// A hostile tree can be deep and wide, so nothing here grows with either but by a few bytes. No C
// stack is used per level. A bounded number of ancestors stays open; further up the way back is
// "..", compared by identity. There is one path, which grows and shrinks with the walk. Children
// that wait to be visited stand packed in one stack, those of the deepest directory on top. A
// directory with very many names is shown to the visitor in portions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/policy.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

class KnownDirectories;

// DirectoryNames: the names in one directory, read by getdents64 without a stat per entry.

enum class EntryType { Directory, Regular, Symlink, Other };

struct DirectoryEntry {
  std::string_view name;
  EntryType type = EntryType::Other;
  std::uint64_t inode = 0;  // of the directory entry: differs from the object's at a mount point
};

// Reusable: one buffer serves a whole walk.
class DirectoryNames {
 public:
  DirectoryNames();
  // Everything but "." and "..". False on an error; what was read until then is kept. Names are
  // valid until the next call.
  bool read(int descriptor);
  // The same, but stops after some 64,000 names, for a directory that somebody filled without end.
  // True if the next call may find more.
  bool read_portion(int descriptor);
  [[nodiscard]] std::span<const DirectoryEntry> entries() const { return entries_; }
  [[nodiscard]] const DirectoryEntry* find(std::string_view name) const;
  // Shows what has another spelling of a name that Cordon knows under that name, if the directory
  // `descriptor` takes both for the same (host/folded_names.h).
  void spell(int descriptor);
  // Whether the last call read the directory to its end.
  [[nodiscard]] bool at_end() const { return at_end_; }

  // Some of the entries in one text, and those of such a text instead of read ones: valid as long
  // as it is.
  template <typename Wanted>
  [[nodiscard]] std::string pack(const Wanted& wanted) const {
    std::string packed;
    for (const DirectoryEntry& entry : entries_)
      if (wanted(entry)) pack_entry(entry, packed);
    return packed;
  }
  void show(std::string_view packed);

 private:
  static void pack_entry(const DirectoryEntry& entry, std::string& packed);
  enum class End { Whole, Portion, Failed };
  End read_names(int descriptor, std::size_t most);
  struct Span {
    std::size_t begin;
    std::size_t length;
  };
  std::unique_ptr<std::uint64_t[]> buffer_;  // NOLINT(modernize-avoid-c-arrays): aligned, unset
  std::string arena_;
  std::vector<Span> spans_;
  std::vector<DirectoryEntry> entries_;
  bool at_end_ = false;
};

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

  // Of a walk that is given what is known of the tree's directories. Whether of one at `path` that
  // has not changed only those entries have to be shown that matter; as long as that is so, they
  // depend on the entry alone.
  [[nodiscard]] virtual bool knows_enough(const std::string& path,
                                          WalkedDirectory::State state) const;
  [[nodiscard]] virtual bool matters(const DirectoryEntry& entry) const;
  // Whether a directory in which nothing matters has to be visited all the same.
  [[nodiscard]] virtual bool visits_all() const { return false; }
};

// `root` is the canonical path of a directory. One that stays closed is visited by nobody and is no
// error; a tree that is rearranged so that the way back up is lost is one. A directory whose path
// is longer than 16 MiB is not visited, and LookFailures knows.
Result<void> walk_tree(const std::string& root, WalkedDirectory::State state, TreeVisitor& visitor);
// The directory behind `descriptor`, whatever stands at its name by now; `path` is where it is.
// What is `known` of its directories is made use of and added to.
Result<void> walk_tree(int descriptor, const std::string& path, WalkedDirectory::State state,
                       TreeVisitor& visitor, KnownDirectories* known = nullptr);

// The local sockets of the host that a policy or a ceiling lists, as grants: what is granted is the
// object that was there when it was looked at, not its name.

// One that does not exist is dropped with a reduction; something else than a socket is an error.
Result<std::vector<Grant>> resolve_sockets(const std::vector<PathRule>& rules, const Caller& caller,
                                           std::vector<Reduction>& reductions,
                                           std::vector<NamedPath>& named);
// One that does not exist bounds nothing.
Result<std::vector<Grant>> resolve_ceiling_sockets(const std::vector<PathRule>& rules,
                                                   const Caller& caller,
                                                   std::vector<NamedPath>& named);

}  // namespace cordon
