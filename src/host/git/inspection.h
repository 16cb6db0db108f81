// GitInspection: what a run left in git directories that the host's git would run. Repositories
// that were there before keep everything but what appeared in them; new ones keep what git init and
// git clone write, so that they work.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/git/config.h"
#include "host/git/layout.h"
#include "host/git/program_files.h"
#include "host/git/references.h"
#include "host/inspect.h"
#include "host/quarantine.h"
#include "host/survey.h"
#include "host/writable.h"

namespace cordon {

class GitInspection {
 public:
  GitInspection(const TreeSnapshot& before, const GrantPaths& grants, const Caller& caller,
                const UserGit& user, Quarantine& quarantine)
      : before_(before),
        grants_(grants),
        caller_(caller),
        quarantine_(quarantine),
        old_references_(caller, user),
        new_references_(caller, user) {}

  // A git directory found by the walk, with its submodules and worktrees.
  void inspect(int directory, const std::string& path, FileId id);
  [[nodiscard]] bool has_seen(FileId id) const { return seen_.contains(id); }
  // A `.git` file that is new: judged by finish(), when every git directory is known.
  void pointer(const std::string& path) { pointers_.push_back(path); }
  // A `.git` file that was there: the configuration it leads to may name files in its directory.
  void old_pointer(const std::string& path) { old_references_.add_pointer(path); }
  // A root of the walk: it may lie in a repository.
  void root(const std::string& path) { old_references_.add_above(path); }
  // An entry of a git directory, at any depth, that is neither a file nor a directory. git writes
  // messages and logs into names it knows and follows a link that lies there: a commit message
  // would be appended to the start-up file of a shell.
  void odd_entry(int directory, const std::string& name, const std::string& path);
  // Pointers that lead nowhere known, and what configurations, the caller's own included, make git
  // run from the workspace.
  void finish();
  // The git directories that were examined and kept.
  [[nodiscard]] const std::set<std::string>& known() const { return known_; }

 private:
  enum class Age { Old, New };

  void inspect_part(int directory, const std::string& path, GitRole role, Age age);
  void inspect_hooks(int directory, const std::string& path);
  void inspect_file(int directory, const std::string& path, const GitFile& file);
  void inspect_addresses(int directory, const std::string& path, const std::string& name);
  void clean_config(int directory, const std::string& path, const char* name, GitRole role);
  void take_reference(const GitReference& reference, Age age);
  [[nodiscard]] bool leads_back(int directory, const std::string& path, GitRole role) const;
  [[nodiscard]] bool names_file(const std::string& file, const std::string& gitdir) const;

  const TreeSnapshot& before_;
  const GrantPaths& grants_;
  const Caller& caller_;
  Quarantine& quarantine_;
  std::set<FileId> seen_;
  std::set<std::string> known_;  // git directories that were examined and kept
  std::vector<std::string> pointers_;
  GitReferences old_references_;
  GitReferences new_references_;
};

}  // namespace cordon
