#include "changes/removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/path.h"
#include "changes/config_write_back.h"
#include "changes/held_back.h"
#include "changes/private_copies.h"
#include "host/git/config.h"
#include "host/git/index.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "host/walk.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

constexpr int kDeepestRemoval = 32;
constexpr const char* kRemovedByRun = "removed by the run";

std::vector<DirectoryEntry> entries_of(const std::string& path, DirectoryNames& names,
                                       bool& known) {
  const Fd fd = open_canonical(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  known = fd.valid() && names.read(fd.get());
  if (!known) return {};
  return {names.entries().begin(), names.entries().end()};
}

// True if there is a file below it, of whatever kind.
bool has_files(int directory, const std::string& name, int depth) {
  const auto seen = inspect_name(directory, name);
  if (!seen) return false;
  if (seen->kind != FileKind::Directory || depth > kDeepestRemoval) return true;
  const Fd fd(::openat(directory, name.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  DirectoryNames names;
  if (!fd.valid() || !names.read(fd.get())) return true;
  return std::ranges::any_of(names.entries(), [&](const DirectoryEntry& entry) {
    return has_files(fd.get(), std::string(entry.name), depth + 1);
  });
}

// The git directory that the `.git` of a work tree is or leads to.
std::string git_directory_of(const std::string& top) {
  const std::string index = git_index_of(top);
  return index.empty() ? index : std::string(parent(index));
}

// True if a configuration had this setting when its copy was made, and the run has removed it.
bool has_lost(const PrivateCopies& copies, const std::string& config, const std::string& setting) {
  const auto copy = std::ranges::find(copies.configs, config, &CopiedConfig::path);
  if (copy == copies.configs.end()) return false;
  const auto has = [&](const std::string& text) -> std::optional<bool> {
    const auto settings = parse_git_config(text);
    if (!settings) return std::nullopt;
    return std::ranges::find(*settings, setting, setting_name) != settings->end();
  };
  const Fd above(::open(std::string(parent(copy->copy)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto now =
      above.valid() ? read_regular(above.get(), std::string(basename(copy->copy)), kGitConfigLimit)
                    : std::nullopt;
  return now && has(copy->base) == true && has(*now) == false;
}

}  // namespace

bool holds_files(const std::string& directory) {
  const Fd above(::open(std::string(parent(directory)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return !above.valid() || has_files(above.get(), std::string(basename(directory)), 0);
}

Removal::Removal(const HostFacts& facts, const std::vector<Grant>& writable) {
  for (const Grant& grant : writable) roots_.push_back(grant.path);
  for (const Held& held : facts.held) held_[held.path] = held.id;
  // A link by which a protected name leads somewhere is a mount as well (host/linked_ways.cc).
  for (const Pinned& pinned : facts.pinned)
    if (pinned.is_protected_link()) held_[pinned.path] = pinned.id;
  for (const GitDirectory& git : facts.git) {
    for (const Held& held : git.held) held_[held.path] = held.id;
    for (const GitDirectory::Config& config : git.configs) held_[config.path] = config.id;
    for (const Held& pinned : git.pinned) {
      pinned_[pinned.path] = pinned.id;
      if (is_root_git(pinned.path) || !inspect_path(join(pinned.path, "HEAD"))) continue;
      git_.push_back({pinned.path, pinned.id});
    }
    for (const GitDirectory::Unseen& one : git.unseen) {
      unseen_.push_back(one);
      held_[one.path] = one.id;
    }
  }
  std::ranges::sort(git_, [](const Candidate& a, const Candidate& b) { return b.path < a.path; });
  for (const Held& held : facts.held) {
    if (held.file != FileKind::Regular || basename(held.path) != ".git") continue;
    const std::string top(parent(held.path));
    if (std::ranges::find(roots_, top) != roots_.end()) continue;
    note_submodule(top, facts);
    DirectoryNames names;
    bool known = false;
    const auto entries = entries_of(top, names, known);
    const bool had_files = std::ranges::any_of(entries, [&](const DirectoryEntry& entry) {
      return !held_.contains(join(top, entry.name));
    });
    if (known && had_files) trees_.push_back({top, git_directory_of(top)});
  }
}

void Removal::note_submodule(const std::string& top, const HostFacts& facts) {
  const std::string git = git_directory_of(top);
  constexpr std::string_view kModules = "/modules/";
  const std::size_t at = git.rfind(kModules);
  const auto seen = inspect_path(top);
  if (at == std::string::npos || !pinned_.contains(git) || !seen) return;
  // What the run may not see, and what is granted by itself, is not moved with the rest.
  const auto is_below = [&](const std::string& path) { return contains(top, path); };
  if (std::ranges::any_of(facts.masked, is_below, &Masked::path) ||
      std::ranges::any_of(roots_, is_below)) {
    return;
  }
  submodules_.push_back({{top, seen->id},
                         git.substr(at + kModules.size()),
                         join(git, "config"),
                         join(git.substr(0, at), "config")});
}

bool Removal::is_root_git(const std::string& path) const {
  return std::ranges::any_of(roots_, [&](const std::string& root) {
    return path == root || path == join(root, ".git") || contains(path, root);
  });
}

std::set<std::string> Removal::finish(const PrivateCopies& copies, HeldBack& held) {
  if (git_.empty() && trees_.empty() && unseen_.empty() && submodules_.empty()) return {};
  for (const CopiedObject& object : copies.objects) copies_[object.what.path] = object.what.source;
  // What git tracks is no mount: the run removed it, and it was put back since.
  for (const ChangeRecord& record : held.records()) {
    if (record.change != Change::Kind::Deleted || record.state != Change::State::Held) continue;
    const auto seen = inspect_path(record.path);
    if (!seen) continue;
    for (auto& [path, id] : held_) {
      const auto now = contains(record.path, path) ? inspect_path(path) : std::nullopt;
      if (now) id = now->id;
    }
    if (seen->kind == FileKind::Directory && !held_.contains(record.path) &&
        holds_only_held(record.path, 0)) {
      join_remade(record.path, seen->id);
    }
  }
  for (const auto& [path, id] : remade_)
    if (take(path, id, held)) prune(std::string(parent(path)));
  for (const Candidate& candidate : git_) {
    const auto seen = inspect_path(candidate.path);
    if (!seen || seen->id != candidate.id || !holds_only_held(candidate.path, 0)) continue;
    if (!take(candidate.path, candidate.id, held)) continue;
    const std::string above(parent(candidate.path));
    if (basename(candidate.path) == ".git") finish_tree(above, held);
  }
  for (const Submodule& one : submodules_) {
    if (has_lost(copies, one.config, "core.worktree") &&
        has_lost(copies, one.parent_config, "submodule." + one.name + ".url")) {
      finish_submodule(one, held);
    }
  }
  for (const auto& [top, entry] : trees_) {
    if (gone_.contains(top) || !holds_only_held(top, 0)) continue;
    finish_tree(top, held);
    const auto pinned = pinned_.find(entry);
    const bool is_entry = pinned != pinned_.end() && basename(parent(entry)) == "worktrees";
    if (is_entry && gone_.contains(join(top, ".git"))) take(entry, pinned->second, held);
  }
  finish_pruned(held);
  return std::move(gone_);
}

void Removal::join_remade(const std::string& path, const FileId& id) {
  const auto is_below = [&](const auto& one) { return contains(path, one.first); };
  bool in_tree = false;
  bool beside = false;
  for (const auto& one : held_) {
    if (!is_below(one)) continue;
    const auto has = [&](const Worktree& tree) { return contains(tree.top, one.first); };
    (std::ranges::any_of(trees_, has) ? in_tree : beside) = true;
  }
  if (in_tree && beside) return;
  std::erase_if(held_, is_below);
  (in_tree ? remade_ : held_)[path] = id;
}

void Removal::finish_pruned(HeldBack& held) {
  for (const GitDirectory::Unseen& one : unseen_) {
    if (one.top.empty() || !copies_.contains(one.path) || !is_emptied(one.path)) continue;
    // Locked, or there again: `git worktree prune` outside would leave it alone.
    if (inspect_path(join(one.path, "locked")) || git_directory_of(one.top) == one.path) continue;
    if (take(one.path, one.id, held)) prune(std::string(parent(one.path)));
  }
}

void Removal::finish_submodule(const Submodule& submodule, HeldBack& held) {
  const auto& [path, id] = submodule.top;
  const Fd above = open_canonical(std::string(parent(path)), O_RDONLY | O_DIRECTORY);
  const std::string name(basename(path));
  struct stat status {};
  if (!above.valid() || ::fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      gone_.contains(path)) {
    return;
  }
  if (looked(status).id != id) {
    // Git has got through: this is the empty directory that it made, with the `.git` put back.
    emptied_.insert(path);
    return finish_tree(path, held);
  }
  ChangeRecord record;
  record.change = Change::Kind::Deleted;
  record.path = record.top = path;
  const auto place = held.place_for(path);
  if (place &&
      ::renameat2(above.get(), name.c_str(), AT_FDCWD, place->c_str(), RENAME_NOREPLACE) == 0) {
    const bool made = ::mkdirat(above.get(), name.c_str(), 0700) == 0;
    if (made) {
      const Fd empty(::openat(above.get(), name.c_str(), kOpenDirectory));
      (void)(empty.valid() && ::fchown(empty.get(), status.st_uid, status.st_gid) == 0 &&
             ::fchmod(empty.get(), status.st_mode & 07777U) == 0);
    }
    record.state = Change::State::Applied;
    record.reason = kRemovedByRun;
    record.put = fingerprint_path(path);
    record.replaced = *place;
    gone_.insert(path);
  } else {
    // The place where it would be kept is on another file system: the person decides.
    record.reason = "git submodule deinit: files of the work tree that were in use stayed";
    record.base = fingerprint_path(path);
  }
  held.add(std::move(record));
}

bool Removal::is_emptied(const std::string& held) const {
  const auto copy = copies_.find(held);
  if (copy == copies_.end()) return true;  // it was read-only: the run had no say in it
  const Fd above(
      ::open(std::string(parent(copy->second)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(basename(copy->second));
  const auto seen = above.valid() ? inspect_name(above.get(), name) : std::nullopt;
  // A single file cannot be removed inside, only a directory can be emptied.
  if (!seen || seen->kind != FileKind::Directory) return seen.has_value();
  return !has_files(above.get(), name, 0);
}

bool Removal::holds_only_held(const std::string& path, int depth) const {
  if (depth > kDeepestRemoval) return false;
  DirectoryNames names;
  bool known = false;
  for (const DirectoryEntry& entry : entries_of(path, names, known)) {
    const std::string one = join(path, entry.name);
    if (const auto found = held_.find(one); found != held_.end()) {
      const auto seen = inspect_path(one);
      if (!seen || seen->id != found->second || !is_emptied(one)) return false;
      continue;
    }
    // A directory that only leads to what is held could not be removed either.
    const bool leads = entry.type == EntryType::Directory &&
                       (pinned_.contains(one) || std::ranges::any_of(held_, [&](const auto& held) {
                          return contains(one, held.first);
                        }));
    if (!leads || !holds_only_held(one, depth + 1)) return false;
  }
  return known;
}

bool Removal::take(const std::string& path, const FileId& id, HeldBack& held) {
  const Fd above = open_canonical(std::string(parent(path)), O_RDONLY | O_DIRECTORY);
  const std::string name(basename(path));
  const auto seen = above.valid() ? inspect_name(above.get(), name) : std::nullopt;
  if (!seen || seen->id != id) return false;
  const auto place = held.place_for(path);
  if (!place) return false;
  if (::renameat2(above.get(), name.c_str(), AT_FDCWD, place->c_str(), RENAME_NOREPLACE) != 0) {
    const Fd into(::open(std::string(parent(*place)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (errno != EXDEV || !into.valid() ||
        exact_copy(CopyFrom::Host, above.get(), name, into.get(), std::string(basename(*place))) !=
            0 ||
        remove_tree(above.get(), name) != 0) {
      return false;
    }
  }
  ChangeRecord record;
  record.change = Change::Kind::Deleted;
  record.state = Change::State::Applied;
  record.path = record.top = path;
  record.reason = kRemovedByRun;
  record.put = kAbsent;
  record.replaced = *place;
  held.add(std::move(record));
  gone_.insert(path);
  return true;
}

void Removal::finish_tree(const std::string& top, HeldBack& held) {
  if (!holds_only_held(top, 0)) return;
  std::vector<std::string> below;
  for (const auto& [path, id] : held_) {
    if (path != top && contains(top, path)) below.push_back(path);
  }
  for (const std::string& path : below) {
    if (!take(path, held_.at(path), held)) continue;
    prune(std::string(parent(path)));
  }
  prune(top);
}

void Removal::prune(std::string directory) const {
  const auto is_root = [&](const std::string& path) {
    return std::ranges::any_of(roots_,
                               [&](const std::string& root) { return contains(path, root); });
  };
  while (!is_root(directory) && !emptied_.contains(directory)) {
    const Fd above = open_canonical(std::string(parent(directory)), O_RDONLY | O_DIRECTORY);
    if (!above.valid() ||
        ::unlinkat(above.get(), std::string(basename(directory)).c_str(), AT_REMOVEDIR) != 0) {
      return;
    }
    directory = std::string(parent(directory));
  }
}

}  // namespace cordon
