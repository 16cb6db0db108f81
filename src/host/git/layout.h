// The parts of a git directory: itself, the git directories of its submodules, and those of its
// linked worktrees. Read by name with one listing each; no git is run and no symlink followed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/resolve.h"
#include "host/survey.h"
#include "host/walk.h"

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

// What has to be pinned, held and copied so that a contained git can do its ordinary work in a
// repository and yet leave nothing behind that the host's git would run.

struct GitFindings {
  GitDirectory directory;
  std::vector<GitPart> parts;      // by absolute path
  std::vector<std::string> links;  // hooks and configs that are symlinks: their names
};

// Everything that is there is entered into `snapshot`.
GitFindings describe_git_directory(int directory, const std::string& path, TreeSnapshot& snapshot);

// A `.git` file at the top of a workspace leads to a git directory elsewhere. It is followed only
// if that directory names this workspace in turn: the pointer lies where a contained program may
// have written it, and following it blindly would let a planted one widen the next run.

struct WorktreePointer {
  std::string written;                 // the gitdir as the pointer spells it
  std::vector<Canonical> directories;  // to be granted: the gitdir and its common directory
  bool leads_back = false;             // false: nothing is granted
};

// Nothing if `directory` has no `.git` file, or if the git directory lies inside `directory`.
std::optional<WorktreePointer> follow_git_file(const std::string& directory, const Caller& caller);

// The path behind "gitdir: " in the text of a `.git` file.
std::optional<std::string> parse_git_file(std::string_view text);

// Where the text of a pointer of git's leads, by its words alone, if it is read in `directory`, a
// canonical path. A relative one may lead up first, and what is above has no links in its path;
// anywhere else `..` may lead back from where a link led: then it is empty.
std::string place_of_pointer(std::string_view text, std::string_view directory);

}  // namespace cordon
