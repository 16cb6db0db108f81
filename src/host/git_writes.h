// Files of a git directory, besides configuration and hooks, by which git starts a program: what an
// interrupted rebase, cherry-pick or bisect left for its continuation, and addresses of the oldest
// kind. One table with a reason each. git writes most of them itself in honest work, so that one
// which changed is judged by its content, and taken away unless it is known to run nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/git_config.h"
#include "policy/host_facts.h"

namespace cordon {

struct GitFile {
  std::string_view path;                   // relative to the git directory
  bool (*runs_nothing)(std::string_view);  // judges the content; null: no honest work writes it
  std::string_view reason;
};

std::span<const GitFile> git_files();

// Directories whose every file is an address for fetch and push.
inline constexpr std::string_view kAddressDirectories[] = {"branches", "remotes"};

// True if a todo list of git rebase or git cherry-pick starts a program.
bool runs_something(std::string_view todo);

// The caller's own git configuration: who commits, and what git runs in every repository.

struct UserGit {
  std::vector<GitSetting> settings;     // later ones win
  std::vector<GitSetting> conditional;  // that hold in some repositories
  std::vector<std::string> included;    // absolute, unresolved
};

// The system's, then the user's files, with all they include.
UserGit read_user_git_config(const Caller& caller);
std::string git_identity(std::span<const GitSetting> settings);

}  // namespace cordon
