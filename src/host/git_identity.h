// The caller's own git configuration: who commits, and what git runs in every repository.
#pragma once

#include <string>
#include <vector>

#include "host/git_config.h"
#include "policy/host_facts.h"

namespace cordon {

struct UserGit {
  std::vector<GitSetting> settings;     // later ones win
  std::vector<GitSetting> conditional;  // that hold in some repositories
  std::vector<std::string> included;    // absolute, unresolved
};

// The system's, then the user's files, with all they include.
UserGit read_user_git_config(const Caller& caller);
std::string git_identity(std::span<const GitSetting> settings);

}  // namespace cordon
