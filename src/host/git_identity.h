// The caller's own git configuration: who commits, and where hooks of every repository lie.
#pragma once

#include <string>
#include <vector>

#include "host/git_config.h"
#include "policy/host_facts.h"

namespace cordon {

struct UserGit {
  std::vector<GitSetting> settings;
  // What it names by an absolute path, and so for every repository there will be: files it
  // includes, on a condition or not, and directories of hooks.
  std::vector<std::string> referenced;
};

// The system's, then the user's files, unconditional includes followed; later settings win.
UserGit read_user_git_config(const Caller& caller);
std::string git_identity(std::span<const GitSetting> settings);

}  // namespace cordon
