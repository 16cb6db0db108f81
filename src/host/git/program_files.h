// Files of a git directory, besides configuration and hooks, by which git starts a program: what an
// interrupted rebase, cherry-pick or bisect left for its continuation, and addresses of the oldest
// kind. One table with a reason each. git writes most of them itself in honest work, so that one
// which changed is judged by its content, and taken away unless it is known to run nothing.
#pragma once

#include <span>
#include <string_view>

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

}  // namespace cordon
