// GitReferences: files of a project that git outside runs, or reads settings from, because a
// configuration names them. They have no name of their own by which a walk could know them.
//
// Which configurations. Every repository that decides for a place in the grants: those the walk
// finds, those that `.git` files in the grants lead to, and those above a grant, bare ones too.
// Besides them the caller's own files, which count in every repository.
//
// Relative to what. git changes into the top of the work tree before it starts anything, and there
// may be many: the main one, each linked one, and each place with a `.git` file. In a bare
// repository, or with a person who stands in it, it is the git directory itself. A relative value
// is taken at all of them.
//
// Which words. A value is a line for the shell, and the shell may be told anything; what is looked
// for is a word that is a file: `./tools/diff`, `python3 conv.py`, `X=1 sh -c 'exec ./a'`. A first
// word without a slash is looked up on PATH, whose directories are held by themselves. A word that
// cannot be told from an argument (`make test`) counts only if a file by that name is there before
// the run. What such a program loads in turn is not followed.
//
// The survey before a run holds what is there; the search after it takes what appeared. Both ask
// here, so that they agree.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/git/config.h"
#include "host/git/layout.h"
#include "policy/host_facts.h"

namespace cordon {

struct GitReference {
  std::string path;        // absolute, unresolved
  bool directory = false;  // a directory counts too: of hooks or templates
  bool certain = false;    // a path and no mere argument: counts if it appears
  auto operator<=>(const GitReference&) const = default;
};

class GitReferences {
 public:
  GitReferences(const Caller& caller, const UserGit& user) : caller_(caller), user_(user) {}

  // A git directory by its canonical path.
  void add(const std::string& directory, GitRole role);
  // A `.git` file: the repository it leads to, and the place it lies in as a top.
  void add_pointer(const std::string& file);
  // The repositories that `directory` lies in.
  void add_above(const std::string& directory);

  [[nodiscard]] std::set<GitReference> find() const;

 private:
  struct Repository {
    std::set<std::string> directories;  // its own, and those of its linked worktrees
    std::set<std::string> tops;
  };

  // Returns the repository, by its common directory.
  Repository& join_repository(const std::string& directory, GitRole role);

  const Caller& caller_;
  const UserGit& user_;
  std::map<std::string, Repository> repositories_;
};

}  // namespace cordon
