// survey: what is on this host and in the granted trees that a plan has to know.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "host/inspect.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"

namespace cordon {

class KnownDirectories;

// Objects by identity. An inode number is used again as soon as the object is gone, and a mount
// over a file does not keep it: when somebody outside replaces the file, the kernel takes the mount
// away with it (detach_mounts). Two replacements can bring the old number back under another file,
// which the run could write by then. So the time of birth counts too, which no program can set. A
// file system that knows none gives the change time of a file instead; of a directory, which
// changes with every name in it, only the number.
class ObjectSet {
 public:
  // By number alone: for what a mount that nobody outside can take away has held all the time.
  void insert(const FileId& id) { marks_.emplace(id, 0); }
  void insert(const FileInfo& seen) { marks_[seen.id] = mark(seen); }
  void insert(const FileId& id, std::int64_t mark) { marks_[id] = mark; }
  void erase(const FileId& id) { marks_.erase(id); }
  [[nodiscard]] bool contains(const FileId& id) const { return marks_.contains(id); }
  [[nodiscard]] bool contains(const FileInfo& seen) const { return contains(seen.id, mark(seen)); }
  [[nodiscard]] bool contains(const FileId& id, std::int64_t mark) const {
    const auto found = marks_.find(id);
    return found != marks_.end() && (found->second == 0 || found->second == mark);
  }
  [[nodiscard]] const std::map<FileId, std::int64_t>& marks() const { return marks_; }
  [[nodiscard]] std::size_t size() const { return marks_.size(); }
  bool operator==(const ObjectSet&) const = default;

  static std::int64_t mark(const FileInfo& seen) {
    if (seen.born_ns != 0) return seen.born_ns;
    return seen.kind == FileKind::Directory ? 0 : seen.changed_ns;
  }

 private:
  std::map<FileId, std::int64_t> marks_;  // 0: not known
};

// A writable tree that is searched after the run.
struct SearchRoot {
  std::string path;  // of the grant
  FileId id;
  std::int64_t born_ns = 0;  // 0: not known
  // Held from the survey on: another run may rename the directory, and the search goes through
  // here. Null in a run that is recovered from its note.
  std::shared_ptr<Fd> descriptor;
  // What walks through it know of its directories; null where each is read.
  std::shared_ptr<KnownDirectories> directories;
};

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
  ProtectRules protect;         // of the run's policy and ceilings
  ObjectSet protected_objects;  // every held or masked object that was there
  std::map<FileId, Loose> loose_objects;
  // Directories that nobody can search before the run: they can be entered and not listed, or lie
  // deeper than paths reach. Nothing is known of what is in them, so they are held as a whole.
  ObjectSet closed;
  // What git configurations said before the run, one digest for each setting and file.
  std::set<std::string> git_settings;
  std::set<std::string> git_directories;
  std::int64_t began_ns = 0;  // the kernel's clock for change times, before the first look
  // Paths that a policy or a ceiling names, with a part missing that the run can make.
  std::set<std::string> unmade;
  // Names that lead through links of the project to what a tool of the host would read: nothing was
  // there that the run could not make, or what was is among the protected objects.
  std::set<std::string> led;
};

struct Survey {
  HostFacts facts;
  TreeSnapshot snapshot;
  std::vector<SearchRoot> roots;
  bool whole = true;  // false: of the way to some paths alone, good for questions about them
};

// A run that is not over, in the same trees: what it made appear was not there before it began, so
// it is new to the younger run as well.
struct OlderRun {
  std::string id;
  std::vector<std::string> writable;
  TreeSnapshot snapshot;
};

// One getdents pass over each writable grant (and over read grants if a deny needs it). Refuses
// more than 4096 masks and holds together.
Result<Survey> survey(const Clamped& clamped, const Caller& caller,
                      std::span<const OlderRun> older = {});
// For a question about `paths` (canonical): of the trees, only the directories that lead to them
// are listed, and the git directories beside those. What only the whole tree tells is left out: the
// other names of a file that has several, and links of a protected name that stand elsewhere and
// lead to it. No run may be started from this.
Result<Survey> survey_ways(const Clamped& clamped, const Caller& caller,
                           std::span<const OlderRun> older, std::span<const std::string> paths);

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

}  // namespace cordon
