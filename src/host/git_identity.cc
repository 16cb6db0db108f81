#include "host/git_identity.h"

#include <array>

#include "base/path.h"
#include "host/git_config_files.h"
#include "host/survey.h"

namespace cordon {
namespace {

// Where git looks, the least of them first. A variable takes the place of a file for whoever has it
// set; both count here, since the person's next shell may be without it.
std::vector<std::string> user_files(const Caller& caller) {
  std::vector<std::string> files = {"/etc/gitconfig"};
  if (!caller.config_directory.empty())
    files.push_back(join(parent(caller.config_directory), "git/config"));
  if (!caller.home.empty()) files.push_back(join(caller.home, ".gitconfig"));
  for (const char* name : {"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"}) {
    const auto named = caller.environment.find(name);
    if (named != caller.environment.end() && named->second.starts_with('/'))
      files.push_back(normalize(named->second));
  }
  return files;
}

}  // namespace

UserGit read_user_git_config(const Caller& caller) {
  GitConfigFiles files(caller);
  for (const std::string& path : user_files(caller)) files.read(path);
  return {std::move(files.settings), std::move(files.conditional), std::move(files.included)};
}

std::string git_identity(std::span<const GitSetting> settings) {
  struct Wanted {
    const char* section;
    const char* key;
  };
  constexpr std::array<Wanted, 3> kWanted = {
      {{"user", "name"}, {"user", "email"}, {"init", "defaultbranch"}}};
  std::vector<GitSetting> kept;
  for (const Wanted& wanted : kWanted)
    if (auto value = last_value(settings, wanted.section, "", wanted.key))
      kept.push_back({wanted.section, "", wanted.key, std::move(value)});
  return write_git_config(kept);
}

std::string git_identity(const Caller& caller) {
  return git_identity(std::span<const GitSetting>(read_user_git_config(caller).settings));
}

}  // namespace cordon
