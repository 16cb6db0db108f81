#include "changes/removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/path.h"
#include "changes/exact_copy.h"
#include "changes/fingerprint.h"
#include "host/directory_names.h"
#include "host/look.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

constexpr int kDeepestRemoval = 32;

std::vector<DirectoryEntry> entries_of(const std::string& path, DirectoryNames& names,
                                       bool& known) {
  const Fd fd = open_canonical(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  known = fd.valid() && names.read(fd.get());
  if (!known) return {};
  return {names.entries().begin(), names.entries().end()};
}

// True if there is a file below it, of whatever kind.
bool has_files(int directory, const std::string& name, int depth) {
  const auto seen = look(directory, name);
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

// Where the pointer of a linked worktree leads.
std::string entry_of(const std::string& top) {
  const Fd above = open_canonical(top, O_PATH | O_DIRECTORY);
  const auto pointer = above.valid() ? read_regular(above.get(), ".git", 8192) : std::nullopt;
  constexpr std::string_view kWord = "gitdir: /";
  if (!pointer || !pointer->starts_with(kWord)) return {};
  std::string_view text(*pointer);
  text.remove_prefix(kWord.size() - 1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return has_dotdot(text) ? std::string() : normalize(text);
}

}  // namespace

Removal::Removal(const HostFacts& facts, const std::vector<Grant>& writable) {
  for (const Grant& grant : writable) roots_.push_back(grant.path);
  for (const Held& held : facts.held) held_[held.path] = held.id;
  for (const GitDirectory& git : facts.git) {
    for (const Held& held : git.held) held_[held.path] = held.id;
    for (const GitDirectory::Config& config : git.configs) held_[config.path] = config.id;
    for (const Held& pinned : git.pinned) {
      pinned_[pinned.path] = pinned.id;
      if (is_root_git(pinned.path) || !look_path(join(pinned.path, "HEAD"))) continue;
      git_.push_back({pinned.path, pinned.id});
    }
  }
  std::ranges::sort(git_, [](const Candidate& a, const Candidate& b) { return b.path < a.path; });
  for (const Held& held : facts.held) {
    if (held.file != FileKind::Regular || basename(held.path) != ".git") continue;
    const std::string top(parent(held.path));
    if (std::ranges::find(roots_, top) != roots_.end()) continue;
    DirectoryNames names;
    bool known = false;
    const auto entries = entries_of(top, names, known);
    const bool had_files = std::ranges::any_of(entries, [&](const DirectoryEntry& entry) {
      return !held_.contains(join(top, entry.name));
    });
    if (known && had_files) trees_.push_back({top, entry_of(top)});
  }
}

bool Removal::is_root_git(const std::string& path) const {
  return std::ranges::any_of(roots_, [&](const std::string& root) {
    return path == root || path == join(root, ".git") || contains(path, root);
  });
}

std::set<std::string> Removal::finish(const PrivateCopies& copies, HeldBack& held) {
  if (git_.empty() && trees_.empty()) return {};
  for (const CopiedObject& object : copies.objects) copies_[object.what.path] = object.what.source;
  for (const Candidate& candidate : git_) {
    const auto seen = look_path(candidate.path);
    if (!seen || seen->id != candidate.id || !holds_only_held(candidate.path, 0)) continue;
    if (!take(candidate.path, candidate.id, held)) continue;
    const std::string above(parent(candidate.path));
    if (basename(candidate.path) == ".git") finish_tree(above, held);
  }
  for (const auto& [top, entry] : trees_) {
    if (!holds_only_held(top, 0)) continue;
    finish_tree(top, held);
    const auto pinned = pinned_.find(entry);
    const bool is_entry = pinned != pinned_.end() && basename(parent(entry)) == "worktrees";
    if (is_entry && gone_.contains(join(top, ".git"))) take(entry, pinned->second, held);
  }
  return std::move(gone_);
}

bool Removal::is_emptied(const std::string& held) const {
  const auto copy = copies_.find(held);
  if (copy == copies_.end()) return true;  // it was read-only: the run had no say in it
  const Fd above(
      ::open(std::string(parent(copy->second)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(basename(copy->second));
  const auto seen = above.valid() ? look(above.get(), name) : std::nullopt;
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
      const auto seen = look_path(one);
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
  const auto seen = above.valid() ? look(above.get(), name) : std::nullopt;
  if (!seen || seen->id != id) return false;
  const auto place = held.place_for(path);
  if (!place) return false;
  if (::renameat2(above.get(), name.c_str(), AT_FDCWD, place->c_str(), RENAME_NOREPLACE) != 0) {
    const Fd into(::open(std::string(parent(*place)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (errno != EXDEV || !into.valid() ||
        exact_copy(above.get(), name, into.get(), std::string(basename(*place))) != 0 ||
        remove_tree(above.get(), name) != 0) {
      return false;
    }
  }
  ChangeRecord record;
  record.change = Change::Kind::Deleted;
  record.state = Change::State::Applied;
  record.path = record.top = path;
  record.reason = "removed by the run";
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
  while (!is_root(directory)) {
    const Fd above = open_canonical(std::string(parent(directory)), O_RDONLY | O_DIRECTORY);
    if (!above.valid() ||
        ::unlinkat(above.get(), std::string(basename(directory)).c_str(), AT_REMOVEDIR) != 0) {
      return;
    }
    directory = std::string(parent(directory));
  }
}

}  // namespace cordon
