#include "host/classify.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/path_shadow.h"

namespace cordon {
namespace {

std::string_view last_part(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

std::vector<FileId> ids_on_path(const Effective& effective, const Caller& caller) {
  std::vector<FileId> ids;
  for (const std::string& directory : directories_on_path(effective, caller)) {
    struct stat status {};
    if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    ids.push_back(looked(status).id);
  }
  return ids;
}

}  // namespace

Classifier::Classifier(const Effective& effective, const Caller& caller)
    : effective_(effective),
      caller_(caller),
      path_directories_(ids_on_path(effective, caller)),
      denies_(effective.deny) {
  for (const DenyGlob& deny : effective.deny) anchored_ |= !deny.anchor.empty();
  std::vector<std::string_view> names(effective.protect.add.begin(), effective.protect.add.end());
  for (const ProtectedName& name : protected_names()) names.push_back(name.name);
  for (const std::string_view name : names) {
    const std::string_view last = last_part(name);
    last_parts_.insert(lower_case(last));
    if (last.size() < name.size()) first_parts_.emplace(name.substr(0, name.find('/')));
    // A case-folding directory may show the first letter in either case.
    for (const char first : {last.front(), lower_case(last).front()})
      lengths_[static_cast<unsigned char>(first)] |= 1ULL << std::min<std::size_t>(last.size(), 63);
  }
  find_homes();
}

// Programs look for `git/config` below `$XDG_CONFIG_HOME` as they do below `~/.config`.
void Classifier::find_homes() {
  const auto id_of = [](const std::string& path) {
    struct stat status {};
    const bool found = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    return found ? std::optional(looked(status).id) : std::nullopt;
  };
  for (const std::string& home : caller_.homes) {
    if (const auto id = id_of(home)) homes_.insert(*id);
    // What a link there leads to is found by the link (host/linked_ways.h).
    for (const std::string& part : first_parts_)
      if (const auto seen = inspect_path(join(home, part));
          seen && seen->kind == FileKind::Directory)
        parts_of_homes_.emplace(seen->id, part);
  }
  for (const auto& [variable, part] :
       {std::pair("XDG_CONFIG_HOME", ".config"), std::pair("CARGO_HOME", ".cargo")}) {
    const auto value = caller_.environment.find(variable);
    if (value == caller_.environment.end() || !value->second.starts_with('/')) continue;
    if (const auto id = id_of(value->second)) parts_of_homes_.insert_or_assign(*id, part);
  }
}

std::string_view Classifier::first_part(const WalkedDirectory& directory) const {
  const auto found = parts_of_homes_.find(directory.id());
  return found == parts_of_homes_.end() ? directory.name() : std::string_view(found->second);
}

bool Classifier::counts(const ProtectedName& name, const WalkedDirectory& directory) const {
  if (counts_in(name, directory.path(), caller_.homes)) return true;
  const bool nested = name.name.find('/') != std::string_view::npos;
  return nested ? parts_of_homes_.contains(directory.id()) : homes_.contains(directory.id());
}

bool Classifier::may_be_protected(std::string_view name) const {
  const auto first = static_cast<unsigned char>(name.front());
  return (lengths_[first] >> std::min<std::size_t>(name.size(), 63) & 1) != 0;
}

const ProtectedName* Classifier::find_name(const WalkedDirectory& directory,
                                           const DirectoryEntry& entry) const {
  if (!may_be_protected(entry.name)) return nullptr;
  const ProtectRules& rules = effective_.protect;
  const std::string_view part = first_part(directory);
  if (const auto* found = find_protected(part, entry.name, rules)) return found;
  const std::string folded = lower_case(entry.name);
  if (folded == entry.name) return nullptr;
  const ProtectedName* found = find_protected(part, folded, rules);
  if (found == nullptr) return nullptr;
  // Another spelling counts only where the file system takes it for the same name.
  const auto here = inspect_name(directory.descriptor(), std::string(entry.name));
  const auto there = inspect_name(directory.descriptor(), folded);
  return here && there && here->id == there->id ? found : nullptr;
}

bool Classifier::is_on_path(FileId id) const {
  return std::find(path_directories_.begin(), path_directories_.end(), id) !=
         path_directories_.end();
}

std::optional<Protection> Classifier::protection(const WalkedDirectory& directory,
                                                 const DirectoryEntry& entry) const {
  const ProtectedName* name = find_name(directory, entry);
  // What makes git run something is found by reading the git directory, not by single names.
  const bool in_git = (directory.state() & walk_state::kGit) != 0 || directory.name() == ".git";
  const bool in_package = (directory.state() & walk_state::kPackage) != 0;
  if (name != nullptr && !(in_git && name->kind == HoldKind::Git) && counts(*name, directory)) {
    Protection result{name->kind, name->action};
    if (in_package && name->kind == HoldKind::Editor) result.action = HoldAction::Report;
    // A package is full of Makefiles and package.json files that nobody runs from there.
    if (!(in_package && name->kind == HoldKind::Build)) return result;
  }
  if (entry.type != EntryType::Directory) return std::nullopt;
  for (const FileId& id : path_directories_) {
    if (id.inode != entry.inode) continue;
    const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
    if (seen && seen->id == id) return Protection{HoldKind::Path, HoldAction::Hold};
  }
  return std::nullopt;
}

std::vector<NameBehind> Classifier::held_behind(const WalkedDirectory& directory,
                                                const DirectoryEntry& entry) const {
  if (entry.type != EntryType::Symlink || !first_parts_.contains(entry.name)) return {};
  std::vector<NameBehind> found = names_behind(entry.name, effective_.protect);
  const std::string link = join(directory.path(), entry.name);
  const bool in_package = (directory.state() & walk_state::kPackage) != 0;
  std::erase_if(found, [&](const NameBehind& behind) {
    return !counts_in(*behind.name, link, caller_.homes) ||
           (in_package && behind.name->kind == HoldKind::Editor);
  });
  return found;
}

const DenyGlob* Classifier::denied(const WalkedDirectory& directory,
                                   const DirectoryEntry& entry) const {
  if (const DenyGlob* deny = denies_.find_any_depth(entry.name)) return deny;
  return anchored_ ? denies_.find_anchored(join(directory.path(), entry.name)) : nullptr;
}

const DenyGlob* Classifier::denied_with_parents(std::string_view path) const {
  return denies_.find_with_parents(path);
}

bool Classifier::may_deny_below(std::string_view path) const {
  return denies_.may_deny_below(path);
}

bool Classifier::matters(const DirectoryEntry& entry) const {
  if (entry.type != EntryType::Regular) return true;
  // By these a directory is known for git's (looks_like_git_directory), and `.git` may be a file.
  constexpr std::array<std::string_view, 6> kOfGit = {".git", "HEAD",      "objects",
                                                      "refs", "commondir", "worktrees"};
  if (std::ranges::find(kOfGit, entry.name) != kOfGit.end()) return true;
  if (may_be_protected(entry.name) && last_parts_.contains(lower_case(entry.name))) return true;
  return denies_.find_any_depth(entry.name) != nullptr;
}

// Everything in a directory that is reported is remembered, and git's directories are read for
// what they hold.
bool Classifier::goes_by_names(const std::string& path, WalkedDirectory::State state) const {
  return (state & (walk_state::kGit | walk_state::kReported)) == 0 && basename(path) != ".git" &&
         !denies_.may_deny_by_path_below(path);
}

Digest Classifier::rules() const {
  std::string rules;
  const auto add = [&](std::string_view rule) { rules.append(rule) += '\0'; };
  for (const std::string& name : last_parts_) add(name);
  for (const DenyGlob& deny : effective_.deny)
    if (deny.anchor.empty()) add(deny.pattern);
  return sha256(rules);
}

WalkedDirectory::State Classifier::below(const WalkedDirectory& directory,
                                         const DirectoryEntry& entry) {
  WalkedDirectory::State state = directory.state();
  if (is_package_directory(entry.name)) state |= walk_state::kPackage;
  return state;
}

}  // namespace cordon
