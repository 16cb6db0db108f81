// What has to be pinned, held and copied so that a contained git can do its ordinary work in a
// repository and yet leave nothing behind that the host's git would run.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "host/git_layout.h"
#include "host/survey.h"

namespace cordon {

struct GitFindings {
  GitDirectory directory;
  std::vector<std::string> referenced;  // core.hooksPath and includes, absolute, unresolved
  std::vector<std::string> links;       // hooks and configs that are symlinks: their names
};

// `user` is the caller's own git configuration, whose core.hooksPath counts in every repository.
// Everything that is there is entered into `snapshot`.
GitFindings describe_git_directory(int directory, const std::string& path, const Caller& caller,
                                   std::span<const GitSetting> user, TreeSnapshot& snapshot);

// Names below a git directory that hold instructions for a later `git rebase --continue`.
inline constexpr std::array<const char*, 3> kTodoFiles = {
    "rebase-merge/git-rebase-todo", "rebase-apply/git-rebase-todo", "sequencer/todo"};

}  // namespace cordon
