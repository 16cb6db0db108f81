// The search after a run.
//
// When every process of a run is dead, one walk over its writable trees looks for names that the
// host's tools act on: what was not there before the run is moved out of the tree, or reported. It
// has to be right about two questions, and whoever wrote the tree knows how it is done.
//
// Is everything looked at? Each root is walked as the object that it was when the run began,
// through a descriptor (FoundRoots): its name may lead elsewhere by now. No directory is passed
// over for its name. One that was held as a whole is: nothing in it can have changed, and what is
// in there was never compared with anything. A directory that the run closed is opened, searched
// and closed again. Depth and number cost nothing (host/walk.h), and what is reported is bounded
// (host/quarantine.h). Where the search does not get through, the report says "unchecked".
//
// Was it there before? TreeSnapshot answers, by identity: device, inode and time of birth. What a
// mount held is known by that alone, whatever it says now. What no mount could hold (a symlink, a
// file that is only reported) is old as long as its change time is the same.
//
// And who made it? The person may have worked in the same tree meanwhile, and no sign that costs
// nothing tells a file of the run from one of the person: both have the same owner, and the kernel
// names the process only to privileged listeners. So three rules decide, in this order.
//
//   1. The same object is the person's own, and is left alone. While it was there its mount kept
//      the run from it, and everything in a held directory likewise.
//   2. What leads to something that the run cannot have written is the person's: a new directory in
//      .git/worktrees stays if the pointer that it names leads back to it, inside or outside of
//      the writable trees.
//   3. Otherwise harm decides. A replaced git configuration keeps what runs nothing and what it
//      said before (TreeSnapshot::git_settings); the rest is held back. (Replaced by somebody
//      outside, a file loses the mount over it: the kernel detaches mounts from a name that is
//      renamed over or removed. So the new file can be the run's.) A new file under a name that
//      runs something is held back whoever made it. Nothing is deleted: it lies in handoff/, and
//      the report names both places.

#include "host/post_run_scan.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>

#include "base/path.h"
#include "host/classify.h"
#include "host/deny_rules.h"
#include "host/git/config.h"
#include "host/git/inspection.h"
#include "host/inspect.h"
#include "host/own_programs.h"
#include "host/quarantine.h"
#include "host/resolve.h"
#include "host/snapshot.h"
#include "host/walk.h"

namespace cordon {
namespace {

using walk_state::kDenyOnly;
using walk_state::kGit;
using walk_state::kReported;

constexpr std::size_t kMostClosedAgain = 10'000;

class PostRunWalk final : public TreeVisitor {
 public:
  PostRunWalk(const Effective& effective, const Caller& caller, const TreeSnapshot& before,
              const GrantPaths& grants, GitInspection& git, Quarantine& quarantine)
      : caller_(caller),
        before_(before),
        grants_(grants),
        classifier_(effective, caller),
        git_(git),
        quarantine_(quarantine) {}

  // The root itself is denied: it was hidden, so nothing in it is the run's.
  [[nodiscard]] bool hides_root(const std::string& root) const {
    return classifier_.denied_with_parents(root) != nullptr;
  }

  void visit(WalkedDirectory& directory) override {
    const bool git = directory.name() == ".git" ||
                     (directory.whole() ? looks_like_git_directory(directory.names())
                                        : is_git_directory(directory.descriptor()));
    if (git && (directory.state() & kDenyOnly) == 0) visit_git(directory);
    for (const DirectoryEntry& entry : directory.entries()) visit_entry(directory, entry);
  }

  // A run may close a directory and leave what is in there to tools that know its name, or to a
  // person who opens it again. It stays open until close_again().
  Fd open_closed(const ClosedDirectory& closed) override {
    constexpr int kHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const Fd fd(::openat(closed.parent, closed.name.c_str(), kHere));
    const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
    // Its parent is somebody else's and closed to the command too, or it is gone.
    if (!seen || before_.closed.contains(*seen)) return Fd();
    if (is_unchanged(before_, *seen)) {
      // No mount held it. Nobody opened it, but whoever may pass through it needs no opening.
      if ((seen->mode & S_IXUSR) != 0 && seen->owner == ::geteuid())
        quarantine_.unchecked(closed.path, "it may be entered but not listed");
      return Fd();
    }
    const unsigned mode = seen->mode & 07777;
    Fd opened;
    if (set_mode(fd.get(), mode | S_IRWXU)) {
      // What no path reaches stays open to its owner.
      if (closed.path.size() < PATH_MAX && opened_.size() < kMostClosedAgain)
        opened_.push_back({closed.path, seen->id, mode});
      opened = Fd(::openat(closed.parent, closed.name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!opened.valid()) quarantine_.unchecked(closed.path, "it cannot be opened");
    return opened;
  }

  [[nodiscard]] bool knows_enough(const std::string& path,
                                  WalkedDirectory::State state) const override {
    return classifier_.goes_by_names(path, state);
  }
  [[nodiscard]] bool matters(const DirectoryEntry& entry) const override {
    return classifier_.matters(entry);
  }

  // Inner ones first: the way to them leads through the outer ones. What was taken meanwhile lies
  // in a directory that only its owner enters.
  void close_again() {
    for (auto one = opened_.rbegin(); one != opened_.rend(); ++one) {
      const Fd fd = open_canonical(one->path, O_PATH | O_DIRECTORY);
      const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
      if (seen && seen->id == one->id) set_mode(fd.get(), one->mode);
    }
    opened_.clear();
  }

 private:
  struct Opened {
    std::string path;
    FileId id;
    unsigned mode;  // the one it had
  };

  static bool set_mode(int descriptor, unsigned mode) {
    return ::chmod(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), mode) == 0;
  }

  // Git directories are kept track of by path. One that is deeper than paths reach is not: it loses
  // what makes git take it for one, and what git would run from it, whoever moves it up again.
  void visit_git(const WalkedDirectory& directory) {
    if (directory.path().size() < PATH_MAX)
      return git_.inspect(directory.descriptor(), directory.path(), directory.id());
    for (const char* name : {"HEAD", "commondir", "config", "hooks"})
      if (inspect_name(directory.descriptor(), name))
        quarantine_.take(directory.descriptor(), name, join(directory.path(), name), HoldKind::Git);
  }

  void visit_entry(WalkedDirectory& directory, const DirectoryEntry& entry) {
    if (classifier_.denied(directory, entry) != nullptr) {
      if (const auto seen = inspect_entry(directory, entry); seen && !was_there(before_, *seen))
        take(directory, entry, HoldKind::Denied);
      return;
    }
    WalkedDirectory::State state = Classifier::below(directory, entry);
    if ((state & kDenyOnly) == 0) {
      if (entry.name == ".git" && entry.type != EntryType::Directory)
        return visit_git_pointer(directory, entry);
      if (const auto protection = classifier_.protection(directory, entry)) {
        const Found found = visit_protected(directory, entry, *protection);
        if (found == Found::Gone) return;
        if (protection->action == HoldAction::Hold) state |= kDenyOnly;
        // What is in a directory that was reported itself needs no line of its own.
        if (protection->kind == HoldKind::Build && found == Found::Known) state |= kReported;
      } else if ((state & kReported) != 0 && entry.type != EntryType::Directory) {
        if (const auto seen = inspect_entry(directory, entry);
            seen && !is_unchanged(before_, *seen))
          quarantine_.report(join(directory.path(), entry.name), HoldKind::Build);
      }
    }
    if (entry.type == EntryType::Symlink && (state & kDenyOnly) == 0 &&
        take_behind(directory, entry))
      return;
    const bool git = directory.name() == ".git" || git_.has_seen(directory.id());
    if (entry.type != EntryType::Directory) {
      if ((git || (state & kGit) != 0) && entry.type != EntryType::Regular)
        git_.odd_entry(directory.descriptor(), std::string(entry.name),
                       join(directory.path(), entry.name));
      return;
    }
    if (git) state |= kGit;
    // A git directory is searched to its ends: an odd entry in it is taken wherever it stands.
    if ((state & kDenyOnly) != 0 && (state & kGit) == 0 &&
        !classifier_.may_deny_below(directory.path()))
      return;
    if (before_.closed.size() != 0) {
      const auto seen = inspect_entry(directory, entry);
      if (!seen || before_.closed.contains(*seen)) return;
    }
    if (directory.name() == "objects" && !classifier_.may_deny_below(directory.path())) {
      const auto seen = inspect_entry(directory, entry);
      if (seen && is_fan_out(directory, entry, *seen) && is_unchanged(before_, *seen)) return;
    }
    directory.descend(entry, state);
  }

  enum class Found { Gone, Known, Reported };

  // A directory under a name that is only reported is searched like any other: `conftest.py` and
  // `.devcontainer` may well be directories with a repository in them.
  Found visit_protected(WalkedDirectory& directory, const DirectoryEntry& entry,
                        const Protection& protection) {
    const auto seen = inspect_entry(directory, entry);
    if (!seen) return Found::Gone;
    const std::string path = join(directory.path(), entry.name);
    if (protection.action == HoldAction::Report) {
      const bool is_directory = seen->kind == FileKind::Directory;
      const bool known =
          is_directory ? before_.loose_objects.contains(seen->id) : is_unchanged(before_, *seen);
      if (!known) quarantine_.report(path, protection.kind);
      return known ? Found::Known : Found::Reported;
    }
    // What was only reported before, in a package, was held by nothing: with the package moved out
    // of `node_modules` it has a name that counts.
    const bool old =
        seen->symlink ? was_there(before_, *seen) : before_.protected_objects.contains(*seen);
    if (old && !(seen->symlink && leads_to_something_new(path))) return Found::Known;
    take(directory, entry, protection.kind);
    return Found::Gone;
  }

  void visit_git_pointer(WalkedDirectory& directory, const DirectoryEntry& entry) {
    const auto seen = inspect_entry(directory, entry);
    if (!seen) return;
    const std::string path = join(directory.path(), entry.name);
    if (was_there(before_, *seen) && !(seen->symlink && leads_to_something_new(path)))
      return git_.old_pointer(path);
    if (seen->kind == FileKind::Regular && path.size() < PATH_MAX) return git_.pointer(path);
    take(directory, entry, HoldKind::Git);
  }

  // An old link whose way was rebuilt: it may be pinned itself, and the links and directories it
  // passes through are not.
  [[nodiscard]] bool leads_to_something_new(const std::string& link) const {
    const Result<Canonical> target = canonicalize(link, "/", caller_);
    if (!target || target->kind == FileKind::Absent) return false;
    if (!grants_.is_writable(target->path) || grants_.covers_grant(target->path)) return false;
    const auto seen = inspect_path(target->path);
    return seen && !before_.protected_objects.contains(*seen) && !is_in_held(target->path);
  }

  // In a directory that is held as a whole nothing is the run's, and nothing in it was compared.
  // Git's own directories are only pinned.
  [[nodiscard]] bool is_in_held(std::string_view path) const {
    for (path = parent(path); grants_.is_writable(path) && path != "/"; path = parent(path)) {
      const ProtectedName* name =
          find_protected(basename(parent(path)), basename(path), before_.protect);
      const bool held = name != nullptr && is_held_in(*name, parent(path), caller_.homes);
      if (!held && !is_end_of_link(path)) continue;
      const auto seen = inspect_path(std::string(path));
      if (seen && before_.protected_objects.contains(*seen)) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_end_of_link(std::string_view path) const {
    return std::ranges::any_of(before_.led, [&](const std::string& name) {
      const Result<Canonical> end = canonicalize(name, "/", caller_);
      return end && end->path == path;
    });
  }

  // `.cargo -> x` makes `x/config.toml` a protected file, by a name that no walk finds. A link that
  // was there is left: what it leads to was held, or noted (TreeSnapshot::led).
  bool take_behind(WalkedDirectory& directory, const DirectoryEntry& entry) {
    for (const NameBehind& behind : classifier_.held_behind(directory, entry)) {
      const auto seen = inspect_entry(directory, entry);
      const std::string link = join(directory.path(), entry.name);
      if (!seen || was_there(before_, *seen)) return false;
      if (!leads_to_something_new(join(link, behind.last))) continue;
      take(directory, entry, behind.name->kind);
      return true;
    }
    return false;
  }

  static std::optional<FileInfo> inspect_entry(const WalkedDirectory& directory,
                                               const DirectoryEntry& entry) {
    return inspect_name(directory.descriptor(), std::string(entry.name));
  }
  void take(const WalkedDirectory& directory, const DirectoryEntry& entry, HoldKind kind) {
    quarantine_.take(directory.descriptor(), std::string(entry.name),
                     join(directory.path(), entry.name), kind);
  }

  const Caller& caller_;
  const TreeSnapshot& before_;
  const GrantPaths& grants_;
  Classifier classifier_;
  GitInspection& git_;
  Quarantine& quarantine_;
  std::vector<Opened> opened_;
};

void take_at(const std::string& path, HoldKind kind, Quarantine& quarantine) {
  const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
  if (!above.valid()) return quarantine.unchecked(path, "its directory cannot be opened");
  quarantine.take(above.get(), std::string(basename(path)), path, kind);
}

// Cordon's own configuration, made where a grant covers the place it is looked for.
void take_own_configuration(const Caller& caller, const TreeSnapshot& before,
                            const GrantPaths& grants, Quarantine& quarantine) {
  if (caller.config_directory.empty()) return;
  const Result<Canonical> place = canonicalize(caller.config_directory, "/", caller);
  if (!place || place->kind == FileKind::Absent || !grants.is_writable(place->path)) return;
  const auto seen = inspect_path(place->path);
  if (!seen || before.protected_objects.contains(*seen) || grants.covers_grant(place->path)) return;
  take_at(place->path, HoldKind::Agent, quarantine);
}

// A held file keeps its content, but a directory above it can be moved away and another put in its
// place: then something else answers to the name of one of Cordon's programs.
void take_false_program(const std::string& program, const TreeSnapshot& before,
                        const GrantPaths& grants, Quarantine& quarantine) {
  if (!grants.is_writable(program) || grants.covers_grant(program)) return;
  std::string place;
  for (const std::string_view part : components(program)) {
    const std::string above = place.empty() ? "/" : place;
    place = join(above, part);
    const auto seen = inspect_path(place);
    if (!seen) return;
    const bool end = place == program;
    const bool passed = !seen->symlink && !end;
    if (passed || before.protected_objects.contains(*seen)) continue;
    take_at(place, HoldKind::Path, quarantine);
    return;
  }
}

// A policy names it, so a link that stands there now would choose what the next run is granted.
// Whether there was one.
bool take_false_way(const std::string& path, PathTrace& trace, const TreeSnapshot& before,
                    const GrantPaths& grants, Quarantine& quarantine) {
  const TracedPath way = trace.to(path);
  for (const PassedPlace* passed : way.passed) {
    const auto& [place, seen] = *passed;
    if (!seen.symlink || !grants.is_writable(place) || before.protected_objects.contains(seen))
      continue;
    take_at(place, HoldKind::Path, quarantine);
    return true;
  }
  return false;
}

// The kind of the protected name that `path` bears, or lies in, or of the directory on PATH that it
// lies in. git's by settings have none.
HoldKind kind_of_way(const std::string& path, const ProtectRules& rules, const Caller& caller) {
  for (std::string_view at = path; at != "/"; at = parent(at)) {
    const ProtectedName* name = find_protected(basename(parent(at)), basename(at), rules);
    if (name != nullptr && name->action == HoldAction::Hold) return name->kind;
  }
  const auto above = inspect_path(std::string(parent(path)));
  return above && is_directory_on_path(above->id, caller) ? HoldKind::Path : HoldKind::Git;
}

// What a protected name leads to through links of the project, where nothing was before the run, or
// something else: a file that somebody outside replaced has lost its mount.
void take_led(const std::string& path, const Caller& caller, const TreeSnapshot& before,
              const GrantPaths& grants, Quarantine& quarantine) {
  const Result<Canonical> end = canonicalize(path, "/", caller);
  if (!end || end->kind == FileKind::Absent || !grants.is_writable(end->path)) return;
  const auto seen = inspect_path(end->path);
  if (!seen || before.protected_objects.contains(*seen) || grants.covers_grant(end->path)) return;
  take_at(end->path, kind_of_way(path, before.protect, caller), quarantine);
}

// Where a root is now, open. Another run may have renamed it: the search goes through the
// descriptor that was opened before the run. Recovered from a note there is none, and the identity
// decides whether this is the tree that the run could write.
class FoundRoots {
 public:
  FoundRoots(std::span<const SearchRoot> roots, Quarantine& quarantine) {
    for (const SearchRoot& root : roots) find(root, quarantine);
  }

  struct Root {
    const SearchRoot* root;
    Fd opened;         // invalid: it is gone
    std::string path;  // where it is
  };
  [[nodiscard]] const Root* of(std::string_view path) const {
    const auto found = std::ranges::find(
        found_, path, [](const Root& one) { return std::string_view(one.root->path); });
    return found != found_.end() ? &*found : nullptr;
  }
  // A path below a root that was moved, as it is now.
  [[nodiscard]] std::string now(const std::string& path) const {
    for (const Root& one : found_) {
      if (one.root->path == one.path || !contains(one.root->path, path)) continue;
      return one.path + path.substr(one.root->path.size());
    }
    return path;
  }

 private:
  static bool is_same(const FileInfo& seen, const SearchRoot& root) {
    return seen.id == root.id &&
           (root.born_ns == 0 || seen.born_ns == 0 || seen.born_ns == root.born_ns);
  }

  void find(const SearchRoot& root, Quarantine& quarantine) {
    constexpr int kHere = O_PATH | O_DIRECTORY;
    Fd named = open_canonical(root.path, kHere);
    const auto seen = named.valid() ? inspect_fd(named.get()) : std::nullopt;
    if (seen && is_same(*seen, root)) {
      found_.push_back({&root, std::move(named), root.path});
      return;
    }
    if (seen)
      quarantine.unchecked(root.path, "another directory than the one of the run stands there");
    Root one{&root, Fd(), root.path};
    const auto kept = root.descriptor ? inspect_fd(root.descriptor->get()) : std::nullopt;
    if (kept && kept->links > 0 && !open_moved(root, one))
      quarantine.unchecked(root.path, "it was moved to where no path reaches");
    if (!root.descriptor && !seen && inspect_path(root.path))
      quarantine.unchecked(root.path, "it is not a directory any more");
    found_.push_back(std::move(one));
  }

  static bool open_moved(const SearchRoot& root, Root& one) {
    const auto path =
        read_link(AT_FDCWD, "/proc/self/fd/" + std::to_string(root.descriptor->get()));
    if (!path || !path->starts_with('/')) return false;
    Fd opened = open_canonical(*path, O_PATH | O_DIRECTORY);
    const auto there = opened.valid() ? inspect_fd(opened.get()) : std::nullopt;
    if (!there || !is_same(*there, root)) return false;
    one.opened = std::move(opened);
    one.path = *path;
    return true;
  }

  std::vector<Root> found_;
};

}  // namespace

Result<std::vector<Quarantined>> post_run_scan(
    const std::vector<Grant>& writable, const std::vector<DenyGlob>& deny, const Caller& caller,
    const TreeSnapshot& before, const std::string& handoff_directory, const std::string& run_id,
    KeptFiles* kept, std::span<const SearchRoot> searched, std::set<std::string>* git_directories) {
  const LookFailures failures;
  Quarantine quarantine(handoff_directory, run_id, caller.cwd);
  const FoundRoots found(searched, quarantine);
  Effective effective;
  effective.write = writable;
  effective.deny = deny;
  for (Grant& grant : effective.write) grant.path = found.now(grant.path);
  for (DenyGlob& rule : effective.deny) rule.anchor = found.now(rule.anchor);
  effective.protect = before.protect;
  const GrantPaths grants(effective);
  TreeSnapshot known = before;
  if (kept != nullptr) {
    std::vector<std::string> roots;
    for (const Grant* root : grants.writable_roots()) roots.push_back(root->path);
    CORDON_CHECK(kept->put_back(roots, quarantine, known));
  }
  // Before the walk, which would take the link for what has appeared behind it. What was taken is
  // no part of any other way.
  for (const std::string& path : known.led) {
    PathTrace trace;
    if (!take_false_way(path, trace, known, grants, quarantine))
      take_led(path, caller, known, grants, quarantine);
  }
  const UserGit user = read_user_git_config(caller);
  GitInspection git(known, grants, caller, user, quarantine);
  PostRunWalk walk(effective, caller, known, grants, git, quarantine);
  Result<void> walked;
  const auto search = [&](const Grant& grant, const Grant& root) -> Result<void> {
    if (root.kind != FileKind::Directory || walk.hides_root(root.path)) return {};
    const WalkedDirectory::State state = state_of_root(root.path);
    const FoundRoots::Root* place = found.of(grant.path);
    git.root(root.path);
    if (place == nullptr) return walk_tree(root.path, state, walk);
    if (!place->opened.valid()) return {};
    KnownDirectories* const directories = place->root->directories.get();
    return walk_tree(place->opened.get(), place->path, state, walk, directories);
  };
  const std::vector<const Grant*> outermost = grants.writable_roots();
  for (std::size_t i = 0; i < writable.size(); ++i) {
    if (std::ranges::find(outermost, &effective.write[i]) == outermost.end()) continue;
    if (Result<void> one = search(writable[i], effective.write[i]); !one && walked)
      walked = std::move(one);
  }
  git.finish();
  if (git_directories != nullptr) *git_directories = git.known();
  take_own_configuration(caller, known, grants, quarantine);
  for (const std::string& program : own_programs(caller))
    take_false_program(program, known, grants, quarantine);
  PathTrace trace;
  for (const std::string& path : known.unmade) {
    // What was taken is no part of any other way.
    if (take_false_way(path, trace, known, grants, quarantine)) trace = PathTrace();
  }
  walk.close_again();
  CORDON_TRY(handoff, quarantine.finish());
  if (!walked) return fail(std::move(walked).error());
  if (const Result<void> seen = failures.check(); !seen)
    handoff.push_back({".", "unchecked: " + message(seen.error()), {}});
  return handoff;
}

}  // namespace cordon
