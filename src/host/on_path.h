// Finding programs by name, as a shell would, without starting any of them.
#pragma once

#include <string>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

// The first executable file of that name in an absolute directory of the caller's PATH; empty if
// there is none.
std::string on_path(const std::string& name, const Caller& caller);

// True if the caller's shell looks for commands in that directory, by whatever name PATH has it.
bool is_directory_on_path(FileId id, const Caller& caller);

struct FoundAgent {
  std::string name;  // "claude"
  std::string path;
  bool operator==(const FoundAgent&) const = default;
};
// The coding agents that are installed, by the names of their commands. A program of that name may
// be anything: nothing is granted for being found.
std::vector<FoundAgent> find_agents(const Caller& caller);

}  // namespace cordon
