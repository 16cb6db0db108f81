// Mentions: the paths and hosts that a command's arguments and error messages name. Text alone:
// nothing is looked up, and nothing is judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

struct MentionedPath {
  std::string path;      // absolute and normal
  bool written = false;  // the line tells of a write that failed, or a shell would write to it
  bool operator==(const MentionedPath&) const = default;
};

struct MentionedHost {
  std::string host;  // a name, or an address literal
  std::uint16_t port = 0;
  bool operator==(const MentionedHost&) const = default;
};

// Each once, in the order in which they are met, and no more than are worth judging.
struct Mentions {
  std::vector<MentionedPath> paths;
  // Words among the arguments that could be names in `cwd`, as paths.
  std::vector<std::string> names;
  std::vector<MentionedHost> hosts;
};

// A path counts that stands among the arguments, or in a line of `messages` that tells of an error;
// a host that is part of an address among the arguments, or in a line that tells of a name which
// was not found or a network that was not reached. Relative paths begin at `cwd`.
Mentions mentions_in(const std::vector<std::string>& argv, const std::vector<std::string>& messages,
                     const std::string& cwd, const Caller& caller);

}  // namespace cordon
