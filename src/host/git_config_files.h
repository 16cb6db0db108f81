// GitConfigFiles: a configuration of git with everything it includes, as git would read it. An
// include on a condition counts whatever the condition says: it may hold where the person works
// next. Files are found as git finds them, through symlinks; only regular ones are read.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/git_config.h"
#include "policy/host_facts.h"

namespace cordon {

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

}  // namespace cordon
