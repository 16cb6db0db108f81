// Commands that a run leaves in a directory on the caller's PATH.
//
// An activated virtual environment and the `node_modules/.bin` of a project are on PATH, and to
// install something there is ordinary work. The danger is a name that the person's shell finds
// elsewhere today: a `git` or `ls` in such a directory would be started in its place. So a new or
// changed name stays if no other directory of PATH has it and it is none of the commands that
// everybody types; everything else is held back.
//
// The scripts that activate an environment are no commands, but a person sources them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

class PathShadow {
 public:
  // Directories of PATH that a run can write do not count: what is in them shows nothing.
  PathShadow(const Caller& caller, const std::vector<Grant>& writable);
  // True for a directory of the project itself; one that lies in a grant of a whole home is not.
  [[nodiscard]] bool may_be_installed_into(const std::string& directory) const;
  // True if a command of that name would hide another one.
  [[nodiscard]] bool hides(std::string_view name) const;

 private:
  const Caller& caller_;
  const std::vector<Grant>& writable_;
  std::vector<std::string> directories_;
};

}  // namespace cordon
