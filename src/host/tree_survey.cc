#include "host/tree_survey.h"

#include <fcntl.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "host/git_metadata.h"
#include "host/resolve.h"
#include "host/ways.h"

namespace cordon {

using walk_state::kDenyOnly;
using walk_state::kGit;
using walk_state::kReported;

TreeSurvey::TreeSurvey(const Effective& effective, const Caller& caller, const UserGit& user,
                       Survey& out)
    : effective_(effective),
      caller_(caller),
      user_(user),
      out_(out),
      grants_(effective),
      classifier_(effective, caller),
      references_(caller, user) {}

Result<void> TreeSurvey::run() {
  const std::vector<const Grant*> roots = grants_.writable_roots();
  for (const Grant* grant : roots) {
    references_.add_above(grant->path);
    CORDON_CHECK(walk_root(*grant));
  }
  if (!roots.empty())
    for (const GitReference& reference : references_.find()) hold_reference(reference);
  if (refusal_) return fail(*std::move(refusal_));
  return walk_denies();
}

bool TreeSurvey::deny_root(const Grant& grant) {
  const DenyGlob* rule = classifier_.denied_with_parents(grant.path);
  if (rule == nullptr) return false;
  if (const auto seen = look_path(grant.path))
    mask(grant.path, *seen, "deny " + quote(rule->written));
  return true;
}

Result<void> TreeSurvey::walk_root(const Grant& grant) {
  if (deny_root(grant)) return {};
  if (grant.kind != FileKind::Directory) return {};
  return walk_tree(grant.path, 0, *this);
}

// Read grants are walked only where a pattern could match; a plain denied path is just looked at.
Result<void> TreeSurvey::walk_denies() {
  for (const Grant* grant : grants_.readable_roots()) {
    if (deny_root(*grant)) continue;
    if (grant->kind != FileKind::Directory) continue;
    bool whole = false;
    for (const DenyGlob& rule : effective_.deny) {
      if (rule.anchor.empty() || (!rule.pattern.empty() && contains(rule.anchor, grant->path))) {
        whole = true;
      } else if (rule.pattern.empty() && contains(grant->path, rule.anchor)) {
        name(rule.anchor);
        if (const auto seen = look_path(rule.anchor))
          mask(rule.anchor, *seen, "deny " + quote(rule.written));
      } else if (!rule.pattern.empty() && contains(grant->path, rule.anchor)) {
        CORDON_CHECK(walk_tree(rule.anchor, kDenyOnly, *this));
      }
    }
    if (whole) CORDON_CHECK(walk_tree(grant->path, kDenyOnly, *this));
  }
  return {};
}

void TreeSurvey::visit(WalkedDirectory& directory) {
  const bool git = directory.name() == ".git" || looks_like_git_directory(directory.names());
  if (git && (directory.state() & kDenyOnly) == 0 && grants_.is_writable(directory.path()))
    visit_git(directory);
  for (const DirectoryEntry& entry : directory.entries()) visit_entry(directory, entry);
}

void TreeSurvey::visit_git(const WalkedDirectory& directory) {
  if (!git_seen_.insert(directory.id()).second) return;
  GitFindings found =
      describe_git_directory(directory.descriptor(), directory.path(), out_.snapshot);
  for (const Held& pinned : found.directory.pinned) git_seen_.insert(pinned.id);
  for (const GitPart& part : found.parts) references_.add(part.path, part.role);
  for (const std::string& link : found.links) hold_target(link, HoldKind::Git);
  out_.facts.git.push_back(std::move(found.directory));
}

void TreeSurvey::visit_entry(WalkedDirectory& directory, const DirectoryEntry& entry) {
  if (const DenyGlob* rule = classifier_.denied(directory, entry))
    return deny(directory, entry, *rule);
  WalkedDirectory::State state = Classifier::below(directory, entry);
  if ((state & kDenyOnly) == 0) {
    if (entry.name == ".git" && entry.type != EntryType::Directory) {
      references_.add_pointer(join(directory.path(), entry.name));
      return protect(directory, entry, {HoldKind::Git, HoldAction::Hold});
    }
    if (const auto protection = classifier_.protection(directory, entry)) {
      protect(directory, entry, *protection);
      if (protection->action == HoldAction::Hold) state |= kDenyOnly;
      if (protection->kind == HoldKind::Build) state |= kReported;
    } else if ((state & kReported) != 0) {
      if (const auto seen = look(directory.descriptor(), std::string(entry.name)))
        remember_loose(*seen);
    }
  }
  if (entry.type != EntryType::Directory) return;
  const bool git = directory.name() == ".git" || git_seen_.contains(directory.id());
  if (git) {
    state |= kGit;
    // Git's own storage: nobody opens a project in there.
    const bool storage = entry.name == "objects" || entry.name == "refs" || entry.name == "logs";
    if (storage) state |= kDenyOnly;
  }
  if ((state & kDenyOnly) != 0 && !classifier_.may_deny_below(directory.path())) return;
  directory.descend(entry, state);
}

void TreeSurvey::deny(const WalkedDirectory& directory, const DirectoryEntry& entry,
                      const DenyGlob& rule) {
  const auto seen = look(directory.descriptor(), std::string(entry.name));
  if (!seen) return;
  const std::string path = join(directory.path(), entry.name);
  const std::string reason = "deny " + quote(rule.written);
  // What "**" matches may have any name; what stands before it may not.
  const bool anywhere = rule.pattern.find("**") != std::string::npos;
  if (!rule.anchor.empty()) name(anywhere ? rule.anchor : path);
  if (!seen->symlink) return mask(path, *seen, reason);
  // The name is denied, so the object behind it is, under every name it has inside a grant.
  remember_loose(*seen);
  const Result<Canonical> target = canonicalize(path, "/", caller_);
  if (!target || target->kind == FileKind::Absent) return;
  if (!grants_.is_granted(target->path) || grants_.covers_grant(target->path)) return;
  name(target->path);
  if (const auto object = look_path(target->path)) mask(target->path, *object, reason);
}

void TreeSurvey::protect(WalkedDirectory& directory, const DirectoryEntry& entry,
                         const Protection& protection) {
  const auto seen = look(directory.descriptor(), std::string(entry.name));
  if (!seen) return;
  if (protection.action == HoldAction::Report) return remember_loose(*seen);
  const std::string path = join(directory.path(), entry.name);
  // Also where a grant names it or something inside it: no grant opens a protected name.
  if (!seen->symlink) return hold(path, *seen, protection.kind);
  remember_loose(*seen);
  hold_target(path, protection.kind);
}

void TreeSurvey::hold_reference(const GitReference& reference) {
  const std::string& target = reference.path;
  // Most words of a command are no files, and there may be hundreds of aliases.
  if (!look_path(target)) return;
  const Result<Canonical> place = canonicalize(target, "/", caller_);
  if (!place || place->kind == FileKind::Absent) return;
  if (place->kind == FileKind::Directory && !reference.directory) return;
  // What a grant lies in cannot be held as a whole.
  for (const Grant* grant : grants_.writable_roots()) {
    if (!contains(place->path, grant->path) || refusal_) continue;
    refusal_ = policy_error("write " + quote(grant->path) + " would open " + quote(place->path) +
                                ", which git takes hooks or configuration from",
                            "make the change outside the sandbox");
  }
  name(target);
  hold_target(target, HoldKind::Git);
}

void TreeSurvey::hold_target(const std::string& link, HoldKind kind) {
  const Result<Canonical> target = canonicalize(link, "/", caller_);
  if (!target || target->kind == FileKind::Absent) return;
  if (!grants_.is_writable(target->path) || grants_.covers_grant(target->path)) return;
  if (const auto seen = look_path(target->path)) hold(target->path, *seen, kind);
  // A link on the way to it cannot be held.
  if (const auto seen = look_path(link); seen && seen->symlink) remember_loose(*seen);
}

void TreeSurvey::mask(const std::string& path, const Looked& seen, const std::string& reason) {
  out_.facts.masked.push_back({path, seen.kind, seen.id, reason});
  out_.snapshot.protected_objects.insert(seen.id);
}

void TreeSurvey::hold(const std::string& path, const Looked& seen, HoldKind kind) {
  // A read-only mount keeps nobody from writing into a FIFO, and whoever reads a protected name on
  // the host would read that.
  if (seen.kind == FileKind::Other) return mask(path, seen, "not a file, under a protected name");
  out_.facts.held.push_back({path, kind, seen.kind, seen.id});
  out_.snapshot.protected_objects.insert(seen.id);
}

void TreeSurvey::pin_ways(const std::vector<NamedPath>& named) {
  if (effective_.write.empty()) return;
  for (const Grant& grant : effective_.read)
    if (grants_.in_writable_root(grant.path)) name(grant.path);
  for (const NamedPath& one : named)
    if (one.lexical != one.path || grants_.in_writable_root(one.path)) name(one.lexical);
  for (const DenyGlob& rule : effective_.deny)
    if (grants_.in_writable_root(rule.anchor)) name(rule.anchor);
  for (const Held& held : out_.facts.held)
    if (held.kind == HoldKind::Path) name(held.path);
  Ways ways;
  std::set<std::string> done;
  for (const std::string& path : named_) {
    const Way way = ways.to(path);
    for (const std::string& place : way.passed) {
      // A grant is a mount already.
      if (grants_.is_grant(place) || !grants_.is_writable(place)) continue;
      if (!done.insert(place).second) continue;
      const Looked& seen = *ways.seen(place);
      out_.facts.pinned.push_back({place, seen.id});
      if (seen.symlink) out_.snapshot.protected_objects.insert(seen.id);
    }
    if (!way.missing.empty() && grants_.is_writable(way.missing)) out_.snapshot.unmade.insert(path);
  }
}

void TreeSurvey::remember_loose(const Looked& seen) {
  out_.snapshot.loose_objects[seen.id] = {seen.kind, seen.changed_ns};
}

// Stays as it is. Whoever opens it during the run changes its ctime.
Fd TreeSurvey::open_closed(const ClosedDirectory& closed) {
  if (const auto seen = look(closed.parent, closed.name)) remember_loose(*seen);
  return Fd();
}

namespace {

template <typename Entry>
void keep_outermost(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.path < b.path; });
  std::vector<Entry> kept;
  std::set<std::string, std::less<>> directories;
  for (Entry& entry : entries) {
    bool covered = false;
    for (std::string_view up = entry.path; !covered; up = parent(up)) {
      covered = directories.contains(up);
      if (up == "/") break;
    }
    if (covered) continue;
    directories.insert(entry.path);
    kept.push_back(std::move(entry));
  }
  entries = std::move(kept);
}

}  // namespace

void drop_covered(HostFacts& facts) {
  keep_outermost(facts.masked);
  keep_outermost(facts.held);
  const auto masked = [&](const std::string& path) {
    return std::any_of(facts.masked.begin(), facts.masked.end(),
                       [&](const Masked& mask) { return contains(mask.path, path); });
  };
  const auto held = [&](const std::string& path) {
    return std::any_of(facts.held.begin(), facts.held.end(),
                       [&](const Held& hold) { return contains(hold.path, path); });
  };
  std::erase_if(facts.held, [&](const Held& entry) { return masked(entry.path); });
  std::erase_if(facts.pinned,
                [&](const Pinned& entry) { return masked(entry.path) || held(entry.path); });
  for (GitDirectory& git : facts.git) {
    std::erase_if(git.pinned, [&](const Held& entry) { return masked(entry.path); });
    std::erase_if(git.held,
                  [&](const Held& entry) { return masked(entry.path) || held(entry.path); });
    std::erase_if(git.configs, [&](const GitDirectory::Config& entry) {
      return masked(entry.path) || held(entry.path);
    });
  }
  std::erase_if(facts.git, [&](const GitDirectory& git) {
    return git.pinned.empty() || masked(git.path) || held(git.path);
  });
}

}  // namespace cordon
