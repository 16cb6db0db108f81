// Classifier: what one directory entry inside a grant is to Cordon. The survey before a run and the
// search after it ask the same questions here, so that what is held and what is found agree.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "host/walk.h"
#include "policy/deny_index.h"
#include "policy/host_facts.h"

namespace cordon {

// Where a walk is, beyond the path: inherited by children.
namespace walk_state {
inline constexpr WalkedDirectory::State kPackage = 1;   // below node_modules and the like
inline constexpr WalkedDirectory::State kGit = 2;       // inside a git directory
inline constexpr WalkedDirectory::State kDenyOnly = 4;  // only denies matter: read-only or held
inline constexpr WalkedDirectory::State kReported = 8;  // inside a directory that is reported
}  // namespace walk_state

struct Protection {
  HoldKind kind = HoldKind::Denied;
  HoldAction action = HoldAction::Hold;
};

class Classifier {
 public:
  Classifier(const Effective& effective, const Caller& caller);

  // A name of the table, or a directory on the caller's PATH. The name ".git" is not asked here.
  [[nodiscard]] std::optional<Protection> protection(const WalkedDirectory& directory,
                                                     const DirectoryEntry& entry) const;
  // Of a symlink: the held names "a/b" that it is the `a` of, so that what stands behind it under
  // the name `b` bears that name, and no walk finds it.
  [[nodiscard]] std::vector<NameBehind> held_behind(const WalkedDirectory& directory,
                                                    const DirectoryEntry& entry) const;
  // The deny that names the entry; null if none does.
  [[nodiscard]] const DenyGlob* denied(const WalkedDirectory& directory,
                                       const DirectoryEntry& entry) const;
  // The deny that names `path` or a directory above it; a deny written without '/' only names what
  // is in a grant, so it is not asked about directories above.
  [[nodiscard]] const DenyGlob* denied_with_parents(std::string_view path) const;
  // Whether anything below `path` could be denied, so that it has to be searched for that.
  [[nodiscard]] bool may_deny_below(std::string_view path) const;
  [[nodiscard]] bool is_on_path(FileId id) const;

  // Whether an entry can be anything but a plain file to what is asked above, wherever its
  // directory lies; not for denies that go by a path.
  [[nodiscard]] bool matters(const DirectoryEntry& entry) const;
  // Whether that is all there is to know of what stands in the directory `path`.
  [[nodiscard]] bool goes_by_names(const std::string& path, WalkedDirectory::State state) const;
  // What matters() depends on.
  [[nodiscard]] Digest rules() const;

  // The state of a child directory.
  [[nodiscard]] static WalkedDirectory::State below(const WalkedDirectory& directory,
                                                    const DirectoryEntry& entry);

 private:
  [[nodiscard]] const ProtectedName* find_name(const WalkedDirectory& directory,
                                               const DirectoryEntry& entry) const;
  [[nodiscard]] bool may_be_protected(std::string_view name) const;
  // Whether a name that counts in a home alone counts in this directory.
  [[nodiscard]] bool counts(const ProtectedName& name, const WalkedDirectory& directory) const;
  // The first part of the names that have two, as which a directory is looked up in a home.
  [[nodiscard]] std::string_view first_part(const WalkedDirectory& directory) const;
  void find_homes();

  const Effective& effective_;
  const Caller& caller_;
  std::vector<FileId> path_directories_;
  DenyIndex denies_;
  bool anchored_ = false;                           // a deny with an anchor
  std::array<std::uint64_t, 256> lengths_{};        // by first byte: bit n for names of n bytes
  std::set<std::string, std::less<>> last_parts_;   // of protected names, in lower case
  std::set<std::string, std::less<>> first_parts_;  // of those that have two
  // By identity: a mount or a variable may show them under another path.
  std::set<FileId> homes_;
  std::map<FileId, std::string> parts_of_homes_;  // by first part: `.config`
};

}  // namespace cordon
