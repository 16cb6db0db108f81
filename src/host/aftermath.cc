#include "host/aftermath.h"

#include <fcntl.h>
#include <sys/stat.h>

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

  // A run may leave a directory that can be entered but not listed; what is in there would be
  // found by the tools that know its name. Only what was like that before is left alone.
  Fd open_unreadable(int parent, const std::string& name) override {
    const Fd fd(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const auto seen = fd.valid() ? look(fd.get()) : std::nullopt;
    if (!seen || before_.unreadable.contains(seen->id)) return Fd();
    const std::string self = "/proc/self/fd/" + std::to_string(fd.get());
    if (::chmod(self.c_str(), (seen->mode & 07777) | 0700) != 0) return Fd();
    Fd opened(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    ::chmod(self.c_str(), seen->mode & 07777);
    return opened;
  }

 private:
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
    if (entry.type != EntryType::Directory) return;
    if (directory.name() == ".git" || git_.has_seen(directory.id())) {
      state |= kGit;
      if (entry.name == "objects" || entry.name == "refs" || entry.name == "logs")
        state |= kDenyOnly;
    }
    if ((state & kDenyOnly) != 0 && !classifier_.may_deny_below(directory.path())) return;
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
    if (was_there(before_, *seen) && !(seen->symlink && leads_to_something_new(path))) return;
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
};

// Cordon's own configuration, made where a grant covers the place it is looked for.
void take_own_configuration(const Caller& caller, const TreeSnapshot& before,
                            const GrantPaths& grants, Quarantine& quarantine) {
  if (caller.config_directory.empty()) return;
  const Result<Canonical> place = canonicalize(caller.config_directory, "/", caller);
  if (!place || place->kind == FileKind::Absent || !grants.is_writable(place->path)) return;
  if (before.protected_objects.contains(place->id) || grants.covers_grant(place->path)) return;
  const Fd above = open_canonical(std::string(parent(place->path)), O_PATH | O_DIRECTORY);
  if (above.valid())
    quarantine.take(above.get(), std::string(basename(place->path)), place->path, HoldKind::Agent);
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
    if (!seen->symlink && (!end || before.protected_objects.contains(seen->id))) continue;
    const Fd directory = open_canonical(above, O_PATH | O_DIRECTORY);
    if (directory.valid())
      quarantine.take(directory.get(), std::string(part), place, HoldKind::Path);
    return;
  }
}

}  // namespace

Result<std::vector<Handoff>> collect_handoff(const std::vector<Grant>& writable,
                                             const std::vector<DenyGlob>& deny,
                                             const Caller& caller, const TreeSnapshot& before,
                                             const std::string& handoff_directory,
                                             const std::string& run_id) {
  const LookFailures failures;
  Effective effective;
  effective.write = writable;
  effective.deny = deny;
  const GrantPaths grants(effective);
  Quarantine quarantine(handoff_directory, run_id, caller.cwd);
  const UserGit user = read_user_git_config(caller);
  GitInspection git(before, grants, caller, user, quarantine);
  AftermathWalk walk(effective, caller, before, grants, git, quarantine);
  Result<void> walked;
  for (const Grant* root : grants.writable_roots()) {
    if (root->kind != FileKind::Directory) continue;
    if (Result<void> one = walk_tree(root->path, 0, walk); !one && walked) walked = std::move(one);
  }
  git.finish();
  take_own_configuration(caller, before, grants, quarantine);
  for (const std::string& program : own_programs(caller))
    take_false_program(program, before, grants, quarantine);
  CORDON_TRY(handoff, quarantine.finish());
  if (!walked) return fail(std::move(walked).error());
  if (const Result<void> seen = failures.check(); !seen)
    handoff.push_back({".", "unchecked: " + message(seen.error()), {}});
  return handoff;
}

}  // namespace cordon
