// survey: what is on this host and in the granted trees that a plan has to know.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cordon/result.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"

namespace cordon {

// The state of the writable trees before a run, kept to tell afterwards what appeared.
struct TreeSnapshot {
  // Something that was there and cannot be pinned by a mount: a symlink, a file that is only
  // reported, or a directory that could not be searched. Its inode may be freed and used again
  // during the run, so more than that is compared.
  struct Loose {
    FileKind kind = FileKind::Other;
    std::int64_t changed_ns = 0;
    bool operator==(const Loose&) const = default;
  };
  // By the clock of the file system, so that a ctime not before it means: changed during the run.
  // Zero if it is not known.
  std::int64_t began_ns = 0;
  ProtectRules protect;                // of the run's policy and ceilings
  std::set<FileId> protected_objects;  // every held or masked object that was there, by identity
  std::map<FileId, Loose> loose_objects;
  std::set<std::string> git_directories;
  // Paths that a policy or a ceiling names, with a part missing that the run can make.
  std::set<std::string> unmade;
};

struct Survey {
  HostFacts facts;
  TreeSnapshot snapshot;
};

// One getdents pass over each writable grant (and over read grants if a deny needs it). Refuses
// more than 4096 masks and holds together.
Result<Survey> survey(const Clamped& clamped, const Caller& caller);

// The parts, for doctor and tests.
std::vector<SystemEntry> system_entries(SystemEntry::Tier tier);  // up to this tier
CgroupFacts cgroup_facts();
// Directories under a home that the programs on PATH need (pyenv, nvm, rustup, sdkman, ...). Links
// and `pyvenv.cfg` files in `writable`, which runs could have made, lead only to known toolchains.
std::vector<std::string> toolchain_roots(const Caller& caller,
                                         const std::vector<std::string>& writable);
// Credential stores and histories that exist under any home, with symlink targets resolved and both
// names listed.
std::vector<Masked> credential_stores(const Caller& caller);
// user.name, user.email and init.defaultBranch of the caller, as a .gitconfig; empty if none is
// set.
std::string git_identity(const Caller& caller);

}  // namespace cordon
