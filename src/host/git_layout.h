// The parts of a git directory: itself, the git directories of its submodules, and those of its
// linked worktrees. Read by name with one listing each; no git is run and no symlink followed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/directory_names.h"
#include "host/git_config.h"
#include "policy/host_facts.h"

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
// a pointer to where those are.
bool looks_like_git_directory(const DirectoryNames& names);
// `path` is absolute; a worktree's own directory is known by the name of its parent.
GitLayout read_git_layout(int directory, std::string_view path);

// Files and directories outside of the git directory from which its configuration makes git run or
// read more: core.hooksPath and every include. Absolute; symlinks are not resolved.
std::vector<std::string> referenced_paths(std::span<const GitSetting> settings,
                                          std::string_view config_directory,
                                          std::string_view worktree, const Caller& caller);
// Where a part's hooks run, and what relative paths in its configuration mean.
std::string worktree_of(int directory, std::string_view path, GitRole role,
                        std::span<const GitSetting> settings);

}  // namespace cordon
