// GitInspection: what a run left in git directories that the host's git would run. Repositories
// that were there before keep everything but what appeared in them; new ones keep what git init and
// git clone write, so that they work.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/git_identity.h"
#include "host/git_layout.h"
#include "host/grant_paths.h"
#include "host/look.h"
#include "host/quarantine.h"
#include "host/survey.h"

namespace cordon {

class GitInspection {
 public:
  GitInspection(const TreeSnapshot& before, const GrantPaths& grants, const Caller& caller,
                const UserGit& user, Quarantine& quarantine)
      : before_(before), grants_(grants), caller_(caller), user_(user), quarantine_(quarantine) {}

  // A git directory found by the walk, with its submodules and worktrees.
  void inspect(int directory, const std::string& path, FileId id);
  [[nodiscard]] bool has_seen(FileId id) const { return seen_.contains(id); }
  // A `.git` file that is new: judged by finish(), when every git directory is known.
  void pointer(const std::string& path) { pointers_.push_back(path); }
  // Pointers that lead nowhere known, and what configurations, the caller's own included, make git
  // run from the workspace.
  void finish();

 private:
  enum class Age { Old, New };

  void inspect_part(int directory, const std::string& path, GitRole role, Age age);
  void inspect_hooks(int directory, const std::string& path);
  void inspect_todo(int directory, const std::string& path, const std::string& file);
  void clean_config(int directory, const std::string& path, const char* name, GitRole role);
  void note_references(int directory, const std::string& path, GitRole role);
  void take_reference(const std::string& path);
  [[nodiscard]] bool leads_back(int directory, const std::string& path, GitRole role) const;
  [[nodiscard]] bool names_file(const std::string& file, const std::string& gitdir) const;

  const TreeSnapshot& before_;
  const GrantPaths& grants_;
  const Caller& caller_;
  const UserGit& user_;
  Quarantine& quarantine_;
  std::set<FileId> seen_;
  std::set<std::string> known_;  // git directories that were examined and kept
  std::vector<std::string> pointers_;
  std::set<std::string> references_;
};

// True if a todo list of git rebase or git cherry-pick starts a program.
bool runs_something(std::string_view todo);

}  // namespace cordon
