// Removal: a run that removes a repository, a linked worktree or a build directory with clones in
// it.
//
// Inside, git directories are mounts, and so is what is protected in them: `rm -rf` takes
// everything else away and is told EBUSY for these. What is left on the host then is a repository
// without objects and HEAD, of which only a hook directory and a configuration remain: nobody can
// work with it, and nobody but Cordon kept it. So the removal is finished when the run is over.
//
// The rule: a directory that was a git directory when the run began (it had a HEAD), is still the
// same object, and now holds nothing but what was held there, is removed. The same for the work
// tree of a linked worktree or a nested repository, if nothing is left in it but what was held;
// what the repository has of such a worktree goes with it, as `git worktree prune` would have it. A
// held directory counts only if its private copy was emptied too. Directories above that are empty
// then go with it, up to the grant. Nothing is followed, and everything that is removed is moved to
// handoff/, so that `cordon changes restore` brings it back.
//
// `git worktree prune`. What the repository has of a worktree that is gone is a private copy as a
// whole (host/unseen_worktrees.h). If the run emptied it, and the work tree lay in a granted place
// and is not there, the removal is finished. If the work tree lies elsewhere, git inside could only
// think that it is gone: nothing is removed, and the report says so.
//
// A submodule. Its `.git` file is no mount but kept and put back (NativePlanner::hold), so that
// `git rm` and `git mv` get to their ends. What was put back goes here, with the directory that was
// made for it. `git submodule deinit` leaves an empty directory, and so is this one left: that
// command takes the address of the submodule out of the repository's configuration and the place
// of the work tree out of the submodule's. Both are private copies, so both changes are seen, and
// no other command makes the two together. Where something else in the work tree is a mount, deinit
// stops there and goes on as if nothing were; then the rest of the work tree is moved away.
//
// Never finished: the git directory of a writable root itself. Whoever empties that one has
// destroyed a project, and what is left of it is evidence.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "changes/held_back.h"
#include "changes/private_copies.h"
#include "policy/host_facts.h"

namespace cordon {

// True if there is a file below a directory of Cordon's own, of whatever kind.
bool holds_files(const std::string& directory);

class Removal {
 public:
  // Before the launch: notes what could be removed.
  Removal(const HostFacts& facts, const std::vector<Grant>& writable);
  // After the search of the tree and before the copies are compared. Returns the protected paths
  // that are gone now.
  std::set<std::string> finish(const PrivateCopies& copies, HeldBack& held);

 private:
  struct Candidate {
    std::string path;
    FileId id;
  };

  // The top of the work tree of a linked worktree, and what its repository has of it; or empty.
  struct Worktree {
    std::string top;
    std::string entry;
  };

  struct Submodule {
    Candidate top;
    std::string name;
    std::string config;         // its own
    std::string parent_config;  // that of the repository it belongs to
  };

  void note_submodule(const std::string& top, const HostFacts& facts);
  // A whole directory was made anew for what was put back in it, and goes as one: with what it lies
  // in, or by itself if it is, or leads to, the work trees that the run removed and nothing else.
  void join_remade(const std::string& path, const FileId& id);
  void finish_pruned(HeldBack& held);
  void finish_submodule(const Submodule& submodule, HeldBack& held);
  [[nodiscard]] bool is_root_git(const std::string& path) const;
  [[nodiscard]] bool holds_only_held(const std::string& path, int depth) const;
  [[nodiscard]] bool is_emptied(const std::string& held) const;
  // Moves the object away if it is still the one that was seen.
  bool take(const std::string& path, const FileId& id, HeldBack& held);
  void finish_tree(const std::string& top, HeldBack& held);
  void prune(std::string directory) const;

  std::vector<std::string> roots_;
  std::vector<Candidate> git_;   // parts of repositories, the inner ones first
  std::vector<Worktree> trees_;  // that had files
  std::vector<Submodule> submodules_;
  std::vector<GitDirectory::Unseen> unseen_;
  std::map<std::string, FileId> held_;
  std::map<std::string, FileId> pinned_;
  std::map<std::string, std::string> copies_;
  std::map<std::string, FileId> remade_;
  std::set<std::string> emptied_;  // and to stay, as directories
  std::set<std::string> gone_;
};

}  // namespace cordon
