// HostFacts: everything about this host and this workspace that a plan depends on, as a value.
// Collected by host/, consumed by plan/, printed by doctor, and made up freely by tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"
#include "policy/protected_names.h"

namespace cordon {

// A name that leads through a symlink, and where it leads now.
struct LinkedName {
  std::string name;  // absolute and normal
  std::string path;
  auto operator<=>(const LinkedName&) const = default;
};

// Who called, from where. Read once per run.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool may_empty_bounding_set = false;
  std::string user;                // for /etc/passwd inside
  std::string home;                // $HOME, or the account's; canonical; empty if neither is
  std::vector<std::string> homes;  // every home: $HOME and the account's, canonical
  std::string account_home;        // of the password database alone, canonical; empty if unknown
  std::string cwd;                 // physical
  std::vector<LinkedName> names;   // by which the caller knows the homes and the cwd
  std::map<std::string, std::string> environment;
  std::string config_directory;   // $XDG_CONFIG_HOME/cordon
  std::string state_directory;    // $XDG_STATE_HOME/cordon
  std::string runtime_directory;  // $XDG_RUNTIME_DIR/cordon, or below the state directory
  std::string executable;         // Cordon's own binary
};

// One entry of the loader's baseline: it belongs to every plan and is not clamped.
struct SystemEntry {
  enum class Kind { Directory, File, Symlink };
  enum class Tier { Loader, Programs };  // what loading a program needs; what running one may need
  std::string path;                      // "/usr", "/bin", "/etc/ld.so.cache"
  Kind kind = Kind::Directory;
  std::string target;  // of a symlink
  Tier tier = Tier::Loader;
  auto operator<=>(const SystemEntry&) const = default;
};

// A protected object that exists inside a writable grant: it is bound read-only over itself.
struct Held {
  std::string path;
  HoldKind kind = HoldKind::Git;
  FileKind file = FileKind::Regular;
  FileId id;
  std::string link = {};  // by which a protected name leads here; empty: it has such a name itself
  auto operator<=>(const Held&) const = default;
};

// Something that is inside a grant and must not be seen: a credential store or a denied path.
struct Masked {
  std::string path;
  FileKind file = FileKind::Directory;
  FileId id;
  std::string reason;
  auto operator<=>(const Masked&) const = default;
};

// A directory of a read-only grant in which something could appear during the run that must not be
// seen: a credential store or a denied path, missing now or replaced later. A mask needs something
// to lie on, so the run sees what is in the directory now, entry by entry, and nothing new.
struct Frozen {
  struct Entry {
    std::string name;
    FileKind file = FileKind::Regular;
    FileId id;
    std::string target;  // of a symlink; empty for everything else
    auto operator<=>(const Entry&) const = default;
  };
  std::string path;
  FileId id;
  std::vector<Entry> entries;
  auto operator<=>(const Frozen&) const = default;
};

// A directory or symlink inside a writable grant, on the way to something that is masked, held or
// narrowed by its path. It is bound over itself: renamed or replaced, it would leave the next run
// looking in a place where there is nothing to protect.
struct Pinned {
  std::string path;
  FileId id;
  // Of what a protected name leads through, by a symlink, to what the host reads: why that is
  // protected.
  std::optional<HoldKind> shows = {};
  FileKind file = FileKind::Directory;  // Other: a symlink
  [[nodiscard]] bool is_protected_link() const { return shows && file == FileKind::Other; }
  auto operator<=>(const Pinned&) const = default;
};

// Why what a repository has of a worktree that is not seen is copied, as reports tell it.
inline constexpr std::string_view kUnseenWorktree = "git worktree";

// A git directory inside a writable grant. Every `pinned` directory is bound over itself so that it
// cannot be renamed away, `held` is read-only, and each config is seen through a private copy.
struct GitDirectory {
  struct Config {
    std::string path;
    FileId id;
    std::string content;  // what the private copy starts with
    auto operator<=>(const Config&) const = default;
  };
  // What the repository has of a linked worktree that the run does not see: git inside takes that
  // one for gone. It is seen through a private copy as a whole.
  struct Unseen {
    std::string path;
    FileId id;
    std::string top;  // of the work tree, if it is gone from a granted place; else empty
    auto operator<=>(const Unseen&) const = default;
  };
  std::string path;
  FileId id;
  std::vector<Held> pinned;  // the directory itself, modules, worktrees and their children
  std::vector<Held> held;    // hooks, commondir, gitdir and .git pointer files
  std::vector<Config> configs;
  std::vector<Unseen> unseen;  // of what is pinned
  auto operator<=>(const GitDirectory&) const = default;
};

struct CgroupFacts {
  enum class Version { None, V1, V2 };
  Version version = Version::None;
  // Controller -> directory in which a group with it may be made; v2: one directory for all.
  std::map<std::string, std::string> parents;
  auto operator<=>(const CgroupFacts&) const = default;
};

// A file of the private home: settings of the person's that run nothing and tell no secret.
struct HomeFile {
  std::string name;  // relative to the home
  std::string content;
  auto operator<=>(const HomeFile&) const = default;
};

struct HostFacts {
  int landlock_abi = 0;
  bool answers_calls = false;  // the kernel lets a supervisor answer for others (5.19)
  std::uint64_t memory_bytes = 0;
  unsigned processors = 1;
  CgroupFacts cgroup;
  std::vector<SystemEntry> system;
  std::vector<std::string> network_files;  // of /etc/hosts and /etc/resolv.conf, those that exist
  // Of a run with rules for requests: the files of certificates that programs look for; canonical.
  std::vector<std::string> trust_stores;
  std::vector<SystemEntry> root_entries;  // the top of the file system, if a grant is "/" itself
  std::vector<Masked> masked;
  std::vector<Frozen> frozen;
  // Directories that had to be among `frozen` and may not be listed: new names in them are seen.
  std::vector<std::string> unlisted;
  std::vector<Held> held;
  std::vector<Pinned> pinned;
  // Directories in a writable grant that cannot be searched: read-only inside, with all they hold.
  std::vector<Pinned> closed;
  std::vector<GitDirectory> git;
  std::string gitconfig;             // content of the private home's .gitconfig
  std::vector<HomeFile> home_files;  // what else of the person's settings is in that home
};

}  // namespace cordon
