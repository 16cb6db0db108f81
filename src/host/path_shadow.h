// Commands in directories on the caller's PATH.
//
// An activated virtual environment and the `node_modules/.bin` of a project are on PATH, and to
// install something there is ordinary work. The danger is a name that the person's shell finds
// elsewhere today: a `git` or `ls` in such a directory would be started in its place. So a new or
// changed name stays if no other directory of PATH has it and it is none of the commands that
// everybody types; everything else is held back. What such a name leads to by a link is held as the
// name is (host/linked_ways.h).
//
// The scripts that activate an environment are no commands, but a person sources them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// Where the caller's shell looks for commands, absolute and as PATH spells it. Without the current
// directory, which cannot be held as a whole, and without the distribution's directories, unless
// something of it may be written.
std::vector<std::string> directories_on_path(const Effective& effective, const Caller& caller);

class PathShadow {
 public:
  // Directories of PATH that a run can write do not count: what is in them shows nothing.
  PathShadow(const Caller& caller, const std::vector<Grant>& writable);
  // True for a directory of the project itself; one that lies in a grant of a whole home is not.
  [[nodiscard]] bool may_be_installed_into(const std::string& directory) const;
  // True if a command of that name would hide another one.
  [[nodiscard]] bool hides(std::string_view name) const;
  // What everybody types, whether this host has it or not.
  static std::span<const std::string_view> known_to_all();
  // True for these, and for scripts that a person sources.
  static bool is_known_to_all(std::string_view name);

 private:
  const Caller& caller_;
  const std::vector<Grant>& writable_;
  std::vector<std::string> directories_;
};

}  // namespace cordon
