// The parts of a git directory: itself, the git directories of its submodules, and those of its
// linked worktrees. Read by name with one listing each; no git is run and no symlink followed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/directory_names.h"

namespace cordon {

enum class GitRole { Main, Module, Worktree };

struct GitPart {
  std::string path;  // relative to the git directory; empty for itself
  GitRole role = GitRole::Main;
};

struct GitLayout {
  std::vector<std::string> containers;  // modules, worktrees and what lies between, parents first
  std::vector<GitPart> parts;           // parents first
};

// What git takes for a git directory when it stands in it: HEAD with objects and refs, or HEAD with
// a pointer to where those are. Also what linked worktrees share, which git asks for no HEAD.
bool looks_like_git_directory(const DirectoryNames& names);
// The same for a canonical path that nobody listed.
bool is_git_directory(const std::string& path);
// Those that `path`, canonical, is or lies in.
std::vector<std::string> git_directories_above(std::string_view path);
// `path` is absolute; a worktree's own directory is known by the name of its parent.
GitLayout read_git_layout(int directory, std::string_view path);

}  // namespace cordon
