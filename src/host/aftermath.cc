#include "host/aftermath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "host/classify.h"
#include "host/git_identity.h"
#include "host/git_inspection.h"
#include "host/look.h"
#include "host/own_programs.h"
#include "host/quarantine.h"
#include "host/resolve.h"
#include "host/snapshot.h"
#include "host/walk.h"
#include "host/ways.h"

namespace cordon {
namespace {

using walk_state::kDenyOnly;
using walk_state::kGit;
using walk_state::kReported;

class AftermathWalk final : public TreeVisitor {
 public:
  AftermathWalk(const Effective& effective, const Caller& caller, const TreeSnapshot& before,
                const GrantPaths& grants, GitInspection& git, Quarantine& quarantine)
      : caller_(caller),
        before_(before),
        grants_(grants),
        classifier_(effective, caller),
        git_(git),
        quarantine_(quarantine) {}

  void visit(WalkedDirectory& directory) override {
    const bool git = directory.name() == ".git" || looks_like_git_directory(directory.names());
    if (git && (directory.state() & kDenyOnly) == 0)
      git_.inspect(directory.descriptor(), directory.path(), directory.id());
    for (const DirectoryEntry& entry : directory.entries()) visit_entry(directory, entry);
  }

  // A run may close a directory and leave what is in there to tools that know its name, or to a
  // person who opens it again. It stays open until close_again().
  Fd open_closed(const ClosedDirectory& closed) override {
    constexpr int kHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const Fd fd(::openat(closed.parent, closed.name.c_str(), kHere));
    const auto seen = fd.valid() ? look(fd.get()) : std::nullopt;
    // Its parent is somebody else's and closed to the command too, or it is gone.
    if (!seen) return Fd();
    if (is_unchanged(before_, *seen)) {
      // Nobody opened it, but whoever may pass through it needs no opening.
      if ((seen->mode & S_IXUSR) != 0 && seen->owner == ::geteuid())
        quarantine_.unchecked(closed.path, "it may be entered but not listed");
      return Fd();
    }
    const unsigned mode = seen->mode & 07777;
    Fd opened;
    if (set_mode(fd.get(), mode | S_IRWXU)) {
      opened_.push_back({closed.path, seen->id, mode});
      opened = Fd(::openat(closed.parent, closed.name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!opened.valid()) quarantine_.unchecked(closed.path, "it cannot be opened");
    return opened;
  }

  // Inner ones first: the way to them leads through the outer ones. What was taken meanwhile lies
  // in a directory that only its owner enters.
  void close_again() {
    for (auto one = opened_.rbegin(); one != opened_.rend(); ++one) {
      const Fd fd = open_canonical(one->path, O_PATH | O_DIRECTORY);
      const auto seen = fd.valid() ? look(fd.get()) : std::nullopt;
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

  void visit_entry(WalkedDirectory& directory, const DirectoryEntry& entry) {
    if (classifier_.denied(directory, entry) != nullptr) {
      if (const auto seen = look_at(directory, entry); seen && !was_there(before_, *seen))
        take(directory, entry, HoldKind::Denied);
      return;
    }
    WalkedDirectory::State state = Classifier::below(directory, entry);
    if ((state & kDenyOnly) == 0) {
      if (entry.name == ".git" && entry.type != EntryType::Directory)
        return visit_git_pointer(directory, entry);
      if (const auto protection = classifier_.protection(directory, entry)) {
        if (!visit_protected(directory, entry, *protection)) return;
        if (protection->action == HoldAction::Hold) state |= kDenyOnly;
        if (protection->kind == HoldKind::Build) state |= kReported;
      } else if ((state & kReported) != 0 && entry.type != EntryType::Directory) {
        if (const auto seen = look_at(directory, entry); seen && !is_unchanged(before_, *seen))
          quarantine_.report(join(directory.path(), entry.name), HoldKind::Build);
      }
    }
    const bool git = directory.name() == ".git" || git_.has_seen(directory.id());
    if (entry.type != EntryType::Directory) {
      if ((git || (state & kGit) != 0) && entry.type != EntryType::Regular)
        git_.odd_entry(directory.descriptor(), std::string(entry.name),
                       join(directory.path(), entry.name));
      return;
    }
    bool searched = true;  // for odd entries, where nothing else matters
    if (git) {
      state |= kGit;
      if (entry.name == "objects" || entry.name == "refs" || entry.name == "logs")
        state |= kDenyOnly;
      searched = entry.name != "objects";
    }
    if ((state & kDenyOnly) != 0 && !((state & kGit) != 0 && searched) &&
        !classifier_.may_deny_below(directory.path()))
      return;
    directory.descend(entry, state);
  }

  // False if there is nothing left to descend into.
  bool visit_protected(WalkedDirectory& directory, const DirectoryEntry& entry,
                       const Protection& protection) {
    const auto seen = look_at(directory, entry);
    if (!seen) return false;
    const std::string path = join(directory.path(), entry.name);
    if (protection.action == HoldAction::Report) {
      const bool is_directory = seen->kind == FileKind::Directory;
      const bool known =
          is_directory ? before_.loose_objects.contains(seen->id) : is_unchanged(before_, *seen);
      if (!known) quarantine_.report(path, protection.kind);
      return known;
    }
    if (was_there(before_, *seen) && !(seen->symlink && leads_to_something_new(path))) return true;
    take(directory, entry, protection.kind);
    return false;
  }

  void visit_git_pointer(WalkedDirectory& directory, const DirectoryEntry& entry) {
    const auto seen = look_at(directory, entry);
    if (!seen) return;
    const std::string path = join(directory.path(), entry.name);
    if (was_there(before_, *seen) && !(seen->symlink && leads_to_something_new(path)))
      return git_.old_pointer(path);
    if (seen->kind == FileKind::Regular) return git_.pointer(path);
    take(directory, entry, HoldKind::Git);
  }

  // An old link whose way was rebuilt: a link cannot be held, and neither can the directories it
  // passes through.
  [[nodiscard]] bool leads_to_something_new(const std::string& link) const {
    const Result<Canonical> target = canonicalize(link, "/", caller_);
    if (!target || target->kind == FileKind::Absent) return false;
    return grants_.is_writable(target->path) && !grants_.covers_grant(target->path) &&
           !before_.protected_objects.contains(target->id);
  }

  static std::optional<Looked> look_at(const WalkedDirectory& directory,
                                       const DirectoryEntry& entry) {
    return look(directory.descriptor(), std::string(entry.name));
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
  if (before.protected_objects.contains(place->id) || grants.covers_grant(place->path)) return;
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
    const auto seen = look_path(place);
    if (!seen) return;
    const bool end = place == program;
    const bool passed = !seen->symlink && !end;
    if (passed || before.protected_objects.contains(seen->id)) continue;
    take_at(place, HoldKind::Path, quarantine);
    return;
  }
}

// A policy names it, so a link that stands there now would choose what the next run is granted.
void take_false_way(const std::string& path, const TreeSnapshot& before, const GrantPaths& grants,
                    Quarantine& quarantine) {
  Ways ways;
  const Way way = ways.to(path);
  for (const std::string& place : way.passed) {
    const Looked& seen = *ways.seen(place);
    if (!seen.symlink || !grants.is_writable(place) || before.protected_objects.contains(seen.id))
      continue;
    take_at(place, HoldKind::Path, quarantine);
    return;
  }
}

}  // namespace

Result<std::vector<Handoff>> collect_handoff(const std::vector<Grant>& writable,
                                             const std::vector<DenyGlob>& deny,
                                             const Caller& caller, const TreeSnapshot& before,
                                             const std::string& handoff_directory,
                                             const std::string& run_id, KeptFiles* kept) {
  const LookFailures failures;
  Effective effective;
  effective.write = writable;
  effective.deny = deny;
  effective.protect = before.protect;
  const GrantPaths grants(effective);
  Quarantine quarantine(handoff_directory, run_id, caller.cwd);
  TreeSnapshot known = before;
  if (kept != nullptr) {
    std::vector<std::string> roots;
    for (const Grant* root : grants.writable_roots()) roots.push_back(root->path);
    CORDON_CHECK(kept->put_back(roots, quarantine, known));
  }
  const UserGit user = read_user_git_config(caller);
  GitInspection git(known, grants, caller, user, quarantine);
  AftermathWalk walk(effective, caller, known, grants, git, quarantine);
  Result<void> walked;
  for (const Grant* root : grants.writable_roots()) {
    if (root->kind != FileKind::Directory) continue;
    git.root(root->path);
    if (Result<void> one = walk_tree(root->path, 0, walk); !one && walked) walked = std::move(one);
  }
  git.finish();
  take_own_configuration(caller, known, grants, quarantine);
  for (const std::string& program : own_programs(caller))
    take_false_program(program, known, grants, quarantine);
  for (const std::string& path : known.unmade) take_false_way(path, known, grants, quarantine);
  walk.close_again();
  CORDON_TRY(handoff, quarantine.finish());
  if (!walked) return fail(std::move(walked).error());
  if (const Result<void> seen = failures.check(); !seen)
    handoff.push_back({".", "unchecked: " + message(seen.error()), {}});
  return handoff;
}

}  // namespace cordon
