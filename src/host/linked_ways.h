// What protected names of a writable tree lead to through symlinks: `.vscode -> editor`, a hook
// that is a link to `tools/check.sh`, `.cargo -> settings/cargo`. No walk by names finds it, and
// git, an editor or a shell of the host reads it all the same.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/classify.h"
#include "host/inspect.h"
#include "host/writable.h"
#include "policy/host_facts.h"

namespace cordon {

// A symlink under a protected name, or in what is held.
struct WayLink {
  std::string link;  // canonical but for itself
  std::string end;   // what is read: the link, or a protected name below it
  HoldKind kind = HoldKind::Git;
  bool pins = true;  // false: the link itself is not to be pinned
};

struct LinkedWays {
  // A symlink that is followed, or a directory behind one that leads further.
  struct Step {
    std::string path;
    FileInfo seen;
    HoldKind kind;
    bool pins = true;
  };
  struct End {
    std::string path;
    FileInfo seen;
    HoldKind kind;
    std::string link;
  };
  std::vector<Step> steps;
  std::vector<End> ends;  // that have to be held, and are not yet
  // Names behind which something else may be after the run: nothing is there that the run could not
  // make, or what is held there is replaced outside, which takes the mount away.
  std::set<std::string> led;
  std::vector<WayLink> open;  // lead to a grant or above one, which cannot be held
};

// Those in the caller's homes: trees of dotfiles are linked into them, and worked on.
std::vector<WayLink> links_in_homes(const Caller& caller, const ProtectRules& rules);

// What is there under a name that is held in a home, by path, whether a grant covers it or not.
std::vector<std::string> held_in_homes(const Caller& caller, const ProtectRules& rules);

// In directories on the caller's PATH, those with the name of a command that is found elsewhere;
// and those by which such a directory is reached.
std::vector<WayLink> links_on_path(const Effective& effective, const Caller& caller);

// Follows `links`, those in every directory that is held, and those in what these lead to. Looks at
// nothing else: no directory is entered that is neither held nor becomes so.
Result<LinkedWays> follow_links(std::vector<WayLink> links, const GrantPaths& grants,
                                const Classifier& classifier, const HostFacts& facts);

}  // namespace cordon
