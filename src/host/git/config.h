// A small strict reader of git's configuration syntax. It exists because git itself must not be
// run on a repository that a contained program may have written: reading the configuration is what
// makes git execute things. What git would not accept, this does not accept either.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

// How much of git's own files is read: more than git writes, and little enough for a planted file.

inline constexpr std::size_t kGitConfigLimit = std::size_t{1024} * 1024;
// Files that hold one path or name: .git, commondir, gitdir, HEAD.
inline constexpr std::size_t kGitPointerLimit = 8192;

struct GitSetting {
  std::string section;               // lower case
  std::string subsection;            // as written; empty if none
  std::string key;                   // lower case
  std::optional<std::string> value;  // absent for a bare key, which means true
  auto operator<=>(const GitSetting&) const = default;
};

// Nothing if the text is malformed or holds NUL bytes. Includes are not followed.
std::optional<std::vector<GitSetting>> parse_git_config(std::string_view text);
std::string write_git_config(std::span<const GitSetting> settings);

std::optional<std::string> last_value(std::span<const GitSetting> settings,
                                      std::string_view section, std::string_view subsection,
                                      std::string_view key);

// GitConfigFiles: a configuration of git with everything it includes, as git would read it. An
// include on a condition counts whatever the condition says: it may hold where the person works
// next. Files are found as git finds them, through symlinks; only regular ones are read.

class GitConfigFiles {
 public:
  explicit GitConfigFiles(const Caller& caller) : caller_(caller) {}

  // Each file is read once, however often it is named.
  void read(const std::string& path);

  std::vector<GitSetting> settings;     // later ones win
  std::vector<GitSetting> conditional;  // from files that are included on a condition
  std::vector<std::string> included;    // absolute, unresolved, there or not

 private:
  enum class When { Always, OnCondition };
  void read(const std::string& path, When when, int depth);

  const Caller& caller_;
  std::set<std::string> seen_;
};

// A path as a setting spells it: "~/x", "~user/x" by /etc/passwd, "%(prefix)/x", or relative to
// `base`. Nothing if there is no such user.
std::optional<std::string> git_path(std::string_view written, std::string_view base,
                                    const Caller& caller);

// The caller's own git configuration: who commits, and what git runs in every repository.

struct UserGit {
  std::vector<GitSetting> settings;     // later ones win
  std::vector<GitSetting> conditional;  // that hold in some repositories, and those of variables
  std::vector<std::string> included;    // and files that variables name; absolute, unresolved
};

// The system's, then the user's files, with all they include.
UserGit read_user_git_config(const Caller& caller);
// What of them a private home gets, as a .gitconfig: who commits, and a list of settings that name
// no program, no path and no address; aliases that are no shell lines; git-lfs's own filter. Empty
// if none is set.
std::string copied_git_settings(std::span<const GitSetting> settings);
// The same, of this caller's files.
std::string copied_git_settings(const Caller& caller);

}  // namespace cordon
