// Holds, masks and pins
//
// A grant is a tree, and a command that may write the tree is not meant to have everything in it.
// Before a run the granted trees are walked once, and three kinds of places are written down. The
// plan makes mounts of them (plan/native_plan.cc). A mount lies on the object and not on a
// spelling of its path, so no other way of asking gets around it: not `..`, not a descriptor of the
// directory, not a second process.
//
// A hold is for what the host runs without being asked: git's hooks, a shell's start-up file, the
// tasks of an editor. The command may read such a file. If it could change it, its text would run
// later, outside and as the person. So the file or directory is mounted over itself: read-only, or
// as a private copy that is compared and put aside when the run is over (changes/). The name is
// safe as well: the kernel refuses with EBUSY to rename, remove or replace what is mounted on in
// the namespace that asks. Three cases are not that simple:
//
//   It is not there yet.    There is nothing to mount on. The walk fills a snapshot with the
//                           identity of everything that is there; after the run whatever bears a
//                           protected name and is not in it is moved away (post_run_scan.h).
//   It is a symlink.        What it leads to is held, if that lies in a writable grant, and the way
//                           there is pinned, the link first: else the run could remove it, and what
//                           the person has under that name would be gone (linked_ways.cc). It is
//                           entered into the snapshot as well: without mounts another link in its
//                           place is a new object.
//   It is a FIFO, a socket  A read-only mount keeps nobody from writing into one, and whoever reads
//   or a device.            the protected name on the host would read that. It is masked.
//
// A mask is for what must not be seen: credential stores, denied paths, Cordon's own files. An
// empty directory, or a file that nobody may open, is mounted on it: EACCES, or no entries. It is
// also made in read-only grants, where a hold would be idle. What appears there during the run is
// the subject of frozen.cc.
//
// A pin is for the way to either. Only the mount point itself is refused with EBUSY; a directory
// above it can be renamed, and the mounts below move along. That run gains nothing by it. But the
// next one looks for `/p/conf/secret.key`, because a deny says so, finds nothing there, protects
// nothing, and its command reads the file in the directory that the first one called `/p/old`. So
// whatever is found by a path and no other way is named (name()), and every directory and symlink
// that the look-up of a name passes inside a writable grant is mounted over itself, writable: its
// content is as before, and its name stays. Names of patterns are pinned as far as the pattern
// spells them (name_denied()). A name that leads nowhere yet is noted: a link that appears on the
// way is moved away after the run. Where other runs work in the same tree, the way to their roots
// is pinned too, since they will search there by name.
//
// What lies deeper than a path can be spelled (PATH_MAX), or in a directory that cannot be listed,
// cannot be mounted on by itself. The directory that bounds the view is then read-only as a whole,
// or masked if a deny may name something inside.
//
// A mount inside what is masked or held already would be refused or idle, and it costs time; the
// last step keeps the outermost of each kind (drop_covered()).
#include "host/tree_survey.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/path.h"
#include "base/text.h"
#include "host/deny_rules.h"
#include "host/git/layout.h"
#include "host/inspect.h"
#include "host/known_directories.h"
#include "host/resolve.h"
#include "host/snapshot.h"
#include "host/system_entries.h"

namespace cordon {

using walk_state::kDenyOnly;
using walk_state::kGit;
using walk_state::kReported;

namespace {

// Names below it still have to fit.
constexpr std::size_t kDeepestHeld = PATH_MAX - 1 - NAME_MAX - 1;

bool covers(const OlderRun& run, std::string_view path) {
  return std::ranges::any_of(run.writable,
                             [&](const std::string& root) { return contains(root, path); });
}

bool is_before(std::int64_t changed_ns, const OlderRun& run) {
  return is_surely_before(changed_ns, run.snapshot.began_ns);
}

bool is_git(const WalkedDirectory& directory) {
  if (directory.name() == ".git") return true;
  return directory.whole() ? looks_like_git_directory(directory.names())
                           : is_git_directory(directory.descriptor());
}

// In a stage nothing can be made or changed in a directory whose owner or group is not mapped, and
// one pair of ids is: that of the root. The kernel would answer EOVERFLOW to whatever the command
// tries there.
std::optional<Error> foreign_in_stage(const WalkedDirectory& directory, const Fd& root,
                                      const Caller& caller) {
  struct stat here {};
  struct stat top {};
  if (::fstat(directory.descriptor(), &here) != 0 || ::fstat(root.get(), &top) != 0) return {};
  // A root that is foreign itself is refused as such.
  const bool own = top.st_uid == caller.uid && top.st_gid == caller.gid;
  if (!own && !(caller.uid == 0 && top.st_uid != 0)) return {};
  if (here.st_uid == top.st_uid && here.st_gid == top.st_gid) return {};
  const auto pair = [](const struct stat& status, std::string_view between) {
    return std::to_string(status.st_uid) + std::string(between) + std::to_string(status.st_gid);
  };
  return Error{.kind = ErrorKind::Unsupported,
               .what = quote(directory.path()) + " cannot be staged: it belongs to user " +
                       pair(here, " and group ") + ", and the project to user " +
                       pair(top, " and group "),
               .hint = "chown -R " + pair(top, ":") + " " + quote(directory.path()) +
                       ", or run without --stage"};
}

}  // namespace

TreeSurvey::TreeSurvey(const Effective& effective, const Caller& caller, const UserGit& user,
                       std::span<const OlderRun> older, Survey& out)
    : effective_(effective),
      caller_(caller),
      user_(user),
      older_(older),
      out_(out),
      grants_(effective),
      classifier_(effective, caller),
      references_(caller, user) {}

Result<void> TreeSurvey::run() {
  const std::vector<const Grant*> roots = grants_.writable_roots();
  for (const Grant& grant : effective_.write) {
    if (grant.source == Grant::Source::GitDirectory || !lies_in_git_directory(grant.path)) continue;
    return fail(policy_error(
        "write " + quote(grant.written) + " lies in a git directory, where git finds what it runs",
        "grant the working tree; git's own directory is arranged with it"));
  }
  for (const Grant* grant : roots) {
    references_.add_above(grant->path);
    CORDON_CHECK(walk_root(*grant));
  }
  if (!roots.empty()) {
    for (const GitReference& reference : references_.find()) hold_reference(reference);
    CORDON_CHECK(hold_ways());
  }
  if (refusal_) return fail(*std::move(refusal_));
  return walk_denies();
}

bool TreeSurvey::deny_root(const Grant& grant) {
  const DenyGlob* rule = classifier_.denied_with_parents(grant.path);
  if (rule == nullptr) return false;
  if (const auto seen = inspect_path(grant.path))
    mask(grant.path, *seen, "deny " + quote(rule->written));
  return true;
}

Result<void> TreeSurvey::walk_root(const Grant& grant) {
  if (deny_root(grant)) return {};
  if (grant.kind != FileKind::Directory) return {};
  auto opened = std::make_shared<Fd>(open_canonical(grant.path, O_PATH | O_DIRECTORY));
  const auto seen = opened->valid() ? inspect_fd(opened->get()) : std::nullopt;
  if (!seen || seen->id != grant.id)
    return fail(setup_error("the writable grant " + quote(grant.path) + " was replaced meanwhile",
                            ESTALE, "try again when nothing else rearranges it"));
  std::shared_ptr<KnownDirectories> known;
  if (!ways_)
    known = KnownDirectories::read(caller_.state_directory, grant.path, classifier_.rules());
  out_.roots.push_back({grant.path, seen->id, seen->born_ns, opened, known});
  return walk_tree(opened->get(), grant.path, state_of_root(grant.path), *this, known.get());
}

bool TreeSurvey::knows_enough(const std::string& path, WalkedDirectory::State state) const {
  return classifier_.goes_by_names(path, state);
}

bool TreeSurvey::matters(const DirectoryEntry& entry) const { return classifier_.matters(entry); }

// The owner of each directory has to fit into a stage.
bool TreeSurvey::visits_all() const { return effective_.mode == WriteMode::Staged; }

// Read grants are walked only where a pattern could match; a plain denied path is just looked at.
Result<void> TreeSurvey::walk_denies() {
  for (const Grant* grant : grants_.readable_roots()) {
    if (deny_root(*grant)) continue;
    if (grant->kind != FileKind::Directory) continue;
    bool whole = false;
    std::set<std::string> anchors;  // many patterns may have one
    for (const DenyGlob& rule : effective_.deny) {
      if (rule.anchor.empty() || (!rule.pattern.empty() && contains(rule.anchor, grant->path))) {
        whole = true;
      } else if (rule.pattern.empty() && contains(grant->path, rule.anchor)) {
        name(rule.anchor);
        if (const auto seen = inspect_path(rule.anchor))
          mask(rule.anchor, *seen, "deny " + quote(rule.written));
      } else if (!rule.pattern.empty() && contains(grant->path, rule.anchor)) {
        anchors.insert(rule.anchor);
      }
    }
    if (whole) anchors = {grant->path};
    for (const std::string& anchor : anchors) CORDON_CHECK(walk_tree(anchor, kDenyOnly, *this));
  }
  return {};
}

void TreeSurvey::visit(WalkedDirectory& directory) {
  if (effective_.mode == WriteMode::Staged && !refusal_ && !out_.roots.empty() &&
      grants_.is_writable(directory.path())) {
    refusal_ = foreign_in_stage(directory, *out_.roots.back().descriptor, caller_);
  }
  if (is_git(directory) && (directory.state() & kDenyOnly) == 0 &&
      grants_.is_writable(directory.path()))
    visit_git(directory);
  for (const DirectoryEntry& entry : directory.entries()) visit_entry(directory, entry);
}

void TreeSurvey::visit_git(const WalkedDirectory& directory) {
  if (!git_seen_.insert(directory.path()).second) return;
  TreeSnapshot seen;
  GitFindings found = describe_git_directory(directory.descriptor(), directory.path(), seen);
  add_git_snapshot(directory.path(), std::move(seen));
  for (const Held& pinned : found.directory.pinned) git_seen_.insert(pinned.path);
  for (const GitPart& part : found.parts) references_.add(part.path, part.role);
  for (const std::string& link : found.links) links_.push_back({link, link, HoldKind::Git});
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
      if (const auto seen = inspect_name(directory.descriptor(), std::string(entry.name)))
        remember_loose(join(directory.path(), entry.name), *seen);
    }
    for (const NameBehind& behind : classifier_.held_behind(directory, entry)) {
      const std::string link = join(directory.path(), entry.name);
      links_.push_back({link, join(link, behind.last), behind.name->kind});
    }
  }
  if (entry.type != EntryType::Directory) return;
  if (directory.name() == ".git" || git_seen_.contains(directory.path())) state |= kGit;
  if ((state & kDenyOnly) != 0 && !classifier_.may_deny_below(directory.path())) return;
  if (directory.name().empty() && is_kernel_tree(join("/", entry.name))) return;
  if (directory.path().size() + 1 + entry.name.size() > kDeepestHeld)
    return close_deep(directory, entry);
  if (directory.name() == "objects" && !classifier_.may_deny_below(directory.path())) {
    const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
    if (seen && is_fan_out(directory, entry, *seen))
      return remember_loose(join(directory.path(), entry.name), *seen);
  }
  if (is_entered(directory, entry)) directory.descend(entry, state);
}

bool TreeSurvey::is_entered(const WalkedDirectory& directory, const DirectoryEntry& entry) const {
  if (!ways_ || entry.name == ".git") return true;
  const std::string path = join(directory.path(), entry.name);
  return std::ranges::any_of(*ways_, [&](const std::string& end) { return contains(path, end); });
}

void TreeSurvey::close_deep(const WalkedDirectory& directory, const DirectoryEntry& entry) {
  const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
  if (!seen) return;
  const std::string path = join(directory.path(), entry.name);
  if (classifier_.may_deny_below(path))
    return mask(path, *seen, "deeper than paths reach, and a deny may name something in it");
  close(path, *seen);
}

void TreeSurvey::close(const std::string& path, const FileInfo& seen) {
  if (!grants_.is_writable(path)) return;
  out_.facts.closed.push_back({path, seen.id});
  out_.snapshot.closed.insert(seen);
}

// Two runs in one tree: what the older one made appear is new to the younger one too. Otherwise the
// older plants a file and a second link to it, the younger takes it for one that was there, and
// when the older has ended and the planted name was moved away, the younger puts the link in its
// place, under an identity that it knows. The older run's own snapshot was made in the same way, so
// this reaches back to the oldest. What that has no record of, because its policy differs, is old
// if it has not changed since: a rename or a new link changes the time.
bool TreeSurvey::is_older(const std::string& path, const FileInfo& seen) const {
  return std::ranges::all_of(older_, [&](const OlderRun& run) {
    return !covers(run, path) || was_there(run.snapshot, seen) || is_before(seen.changed_ns, run);
  });
}

// The same for what is known of a git directory: how old an object is stands for when it changed.
void TreeSurvey::add_git_snapshot(const std::string& path, TreeSnapshot&& found) {
  TreeSnapshot& known = out_.snapshot;
  for (const auto& [id, mark] : found.protected_objects.marks()) {
    if (std::ranges::all_of(older_, [&, id = id, mark = mark](const OlderRun& run) {
          return !covers(run, path) || run.snapshot.protected_objects.contains(id, mark) ||
                 (mark != 0 && is_before(mark, run));
        }))
      known.protected_objects.insert(id, mark);
  }
  for (const auto& [id, loose] : found.loose_objects) {
    if (std::ranges::all_of(older_, [&, id = id, loose = loose](const OlderRun& run) {
          return !covers(run, path) || is_before(loose.changed_ns, run) ||
                 is_unchanged(run.snapshot, id, loose);
        }))
      known.loose_objects[id] = loose;
  }
  for (const std::string& digest : found.git_settings) {
    if (std::ranges::all_of(older_, [&](const OlderRun& run) {
          return !covers(run, path) || run.snapshot.git_settings.contains(digest);
        }))
      known.git_settings.insert(digest);
  }
  known.git_directories.merge(found.git_directories);
}

void TreeSurvey::deny(const WalkedDirectory& directory, const DirectoryEntry& entry,
                      const DenyGlob& rule) {
  const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
  if (!seen) return;
  const std::string path = join(directory.path(), entry.name);
  const std::string reason = "deny " + quote(rule.written);
  name_denied(path, rule);
  if (!seen->symlink) return mask(path, *seen, reason);
  // The name is denied, so the object behind it is, under every name it has inside a grant.
  remember_loose(path, *seen);
  const Result<Canonical> target = canonicalize(path, "/", caller_);
  if (!target || target->kind == FileKind::Absent) return;
  if (!grants_.is_granted(target->path) || grants_.covers_grant(target->path)) return;
  name(target->path);
  if (const auto object = inspect_path(target->path)) mask(target->path, *object, reason);
}

// `**/conf/*.key` names nothing once `conf` is renamed. What stands before the pattern is kept by
// its anchor. After a leading "**/", which stands for any directories there are, the names that the
// rest spells out have to stay; with another "**" it cannot be told which did the matching, so all
// of them have to.
void TreeSurvey::name_denied(const std::string& path, const DenyGlob& rule) {
  if (rule.anchor.empty()) return;
  name(rule.anchor);
  std::string_view rest = rule.pattern;
  const bool anywhere = rest.starts_with("**/");
  if (anywhere) rest.remove_prefix(3);
  if (!anywhere || rest.find("**") != std::string_view::npos) return name(path);
  std::string_view place = path;
  for (std::size_t named = components(rest).size(); named > 1; --named) {
    place = parent(place);
    pin(std::string(place));
  }
}

void TreeSurvey::protect(WalkedDirectory& directory, const DirectoryEntry& entry,
                         const Protection& protection) {
  const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
  if (!seen) return;
  const std::string path = join(directory.path(), entry.name);
  if (protection.action == HoldAction::Report) return remember_loose(path, *seen);
  // Also where a grant names it or something inside it: no grant opens a protected name.
  if (!seen->symlink) return hold(path, *seen, protection.kind);
  remember_loose(path, *seen);
  links_.push_back({path, path, protection.kind});
}

Result<void> TreeSurvey::hold_ways() {
  std::ranges::move(links_in_homes(caller_, effective_.protect), std::back_inserter(links_));
  std::ranges::move(links_on_path(effective_, caller_), std::back_inserter(links_));
  CORDON_TRY(ways, follow_links(std::move(links_), grants_, classifier_, out_.facts));
  for (const LinkedWays::Step& step : ways.steps) {
    if (step.seen.symlink && is_older(step.path, step.seen))
      out_.snapshot.protected_objects.insert(step.seen);
    if (step.pins)
      out_.facts.pinned.push_back({step.path, step.seen.id, step.kind, step.seen.kind});
  }
  for (const LinkedWays::End& end : ways.ends) hold(end.path, end.seen, end.kind, end.link);
  out_.snapshot.led.merge(ways.led);
  for (const WayLink& way : ways.open) {
    if (refusal_ || !way.pins) continue;
    refusal_ = policy_error(quote(way.link) + " leads to what may be written as a whole, so that " +
                                "nothing under this name could be held",
                            "make it a directory of its own, or grant less than what it leads to");
  }
  return {};
}

void TreeSurvey::hold_reference(const GitReference& reference) {
  const std::string& target = reference.path;
  // Most words of a command are no files, and there may be hundreds of aliases.
  if (!inspect_path(target)) return;
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
  if (const auto seen = inspect_path(target->path)) hold(target->path, *seen, kind);
  // A link on the way to it cannot be held.
  if (const auto seen = inspect_path(link); seen && seen->symlink) remember_loose(link, *seen);
}

void TreeSurvey::mask(const std::string& path, const FileInfo& seen, const std::string& reason) {
  out_.facts.masked.push_back({path, seen.kind, seen.id, reason});
  out_.snapshot.protected_objects.insert(seen);
}

void TreeSurvey::hold(const std::string& path, const FileInfo& seen, HoldKind kind,
                      std::string link) {
  if (seen.kind == FileKind::Other) return mask(path, seen, "not a file, under a protected name");
  const bool by_name = kind == HoldKind::Path && link.empty();
  out_.facts.held.push_back({path, kind, seen.kind, seen.id, std::move(link)});
  if (by_name || is_older(path, seen)) out_.snapshot.protected_objects.insert(seen);
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
    if (held.kind == HoldKind::Path && held.link.empty()) name(held.path);
  PathTrace trace;
  std::unordered_set<const PassedPlace*> done;
  const auto pin = [&](const PassedPlace* place) {
    // A grant is a mount already.
    if (!done.insert(place).second || grants_.is_grant(place->path) ||
        !grants_.is_writable(place->path))
      return false;
    out_.facts.pinned.push_back({place->path, place->info.id});
    return true;
  };
  for (const std::string& path : pinned_)
    if (const PassedPlace* place = trace.seen(path)) pin(place);
  for (const std::string& path : named_) {
    const TracedPath way = trace.to(path);
    for (const PassedPlace* place : way.passed) {
      if (pin(place) && place->info.symlink && is_older(place->path, place->info))
        out_.snapshot.protected_objects.insert(place->info);
    }
    if (!way.missing.empty() && grants_.is_writable(way.missing)) out_.snapshot.unmade.insert(path);
  }
}

void TreeSurvey::remember_loose(const std::string& path, const FileInfo& seen) {
  if (is_older(path, seen)) out_.snapshot.loose_objects[seen.id] = {seen.kind, seen.changed_ns};
}

// The command may enter what it cannot list, and its owner may open what is closed: files would be
// made and changed in there that nobody compared with anything. So it is held as it is. What
// belongs to somebody else and is closed to the caller is closed to the command too. Without mounts
// its change time tells whether it was opened.
Fd TreeSurvey::open_closed(const ClosedDirectory& closed) {
  const auto seen = inspect_name(closed.parent, closed.name);
  if (!seen) return Fd();
  remember_loose(closed.path, *seen);
  const bool enters = ::faccessat(closed.parent, closed.name.c_str(), X_OK, AT_EACCESS) == 0;
  if (enters || seen->owner == ::geteuid()) close(closed.path, *seen);
  return Fd();
}

void pin_roots_of(std::span<const OlderRun> others, const Effective& effective, HostFacts& facts) {
  const GrantPaths grants(effective);
  std::set<std::string> done;
  for (const Pinned& pinned : facts.pinned) done.insert(pinned.path);
  for (const GitDirectory& git : facts.git)
    for (const Held& pinned : git.pinned) done.insert(pinned.path);
  PathTrace trace;
  for (const OlderRun& run : others) {
    for (const std::string& root : run.writable) {
      for (const PassedPlace* passed : trace.to(root).passed) {
        const auto& [place, seen] = *passed;
        if (grants.is_grant(place) || !grants.is_writable(place)) continue;
        if (!seen.symlink && done.insert(place).second) facts.pinned.push_back({place, seen.id});
      }
    }
  }
  drop_covered(facts);
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
  // Of two pins of one place the one that says more.
  std::ranges::sort(facts.pinned, std::ranges::greater());
  const auto same = std::ranges::unique(facts.pinned, {}, &Pinned::path);
  facts.pinned.erase(same.begin(), same.end());
  std::ranges::reverse(facts.pinned);
  keep_outermost(facts.masked);
  keep_outermost(facts.held);
  keep_outermost(facts.closed);
  const auto masked = [&](const std::string& path) {
    return std::any_of(facts.masked.begin(), facts.masked.end(),
                       [&](const Masked& mask) { return contains(mask.path, path); });
  };
  const auto held = [&](const std::string& path) {
    return std::any_of(facts.held.begin(), facts.held.end(),
                       [&](const Held& hold) { return contains(hold.path, path); });
  };
  std::erase_if(facts.held, [&](const Held& entry) { return masked(entry.path); });
  std::erase_if(facts.closed,
                [&](const Pinned& entry) { return masked(entry.path) || held(entry.path); });
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
