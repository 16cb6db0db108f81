// What a sandbox shows of the host: grants, whether live, in a stage or frozen, and the names and
// ways that lead to them.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "plan/keeping_plan.h"
#include "plan/native_planner.h"
#include "policy/decide.h"

namespace cordon {
namespace {

// Below the directory of one staged tree.
constexpr std::string_view kUpperName = "upper";
constexpr std::string_view kWorkName = "work";
constexpr std::string_view kSteadyName = "steady";
constexpr std::string_view kCopyName = "copy";

}  // namespace

// A writable directory mounted over what the sandbox has of its own there would make that writable,
// and a build whose read-only mounts are not read-only is never started.
Result<void> NativePlanner::refuse_over_system(const Grant& grant) const {
  std::string own;
  for (const SystemEntry& entry : facts_.system) {
    if (entry.kind == SystemEntry::Kind::Symlink || !contains(grant.path, entry.path)) continue;
    if (entry.tier == SystemEntry::Tier::Programs && grants_nothing()) continue;
    own = entry.path;
    break;
  }
  if (effective_.net.mode == NetMode::Open && own.empty()) {
    for (const std::string& path : facts_.network_files)
      if (contains(grant.path, path)) own = path;
  }
  if (own.empty()) return {};
  const std::string option = grant.origin == Origin::Option ? "--" : "";
  return fail(policy_error(
      option + "write " + quote(grant.written) + " cannot be granted: Cordon makes " +
          (own == grant.path ? "this directory itself" : "a " + quote(own) + " of its own there") +
          ", which no command may change",
      "name a directory of yours"));
}

Result<void> NativePlanner::grants() {
  struct Entry {
    std::string_view path;
    const Grant* grant;  // null: pinned or frozen
    MountAccess access;
    FileId id;
    const Frozen* frozen = nullptr;
    const Pinned* pinned = nullptr;
  };
  std::vector<Entry> entries;
  for (const Grant& grant : read_)
    if (!is_frozen(grant.path))
      entries.push_back({grant.path, &grant, MountAccess::ReadOnly, grant.id});
  for (const Frozen& frozen : facts_.frozen)
    entries.push_back({frozen.path, nullptr, MountAccess::ReadOnly, frozen.id, &frozen});
  for (const Grant& grant : write_) {
    // A directory on PATH that a document grants is held all the same.
    const auto is_it = [&](const Held& held) { return held.path == grant.path; };
    const bool held = std::ranges::any_of(facts_.held, is_it);
    if (held) {
      plan_.reductions.push_back(
          {"write", grant.written, "read-only", Reduction::Because::Forbidden, grant.origin});
    }
    entries.push_back(
        {grant.path, &grant, held ? MountAccess::ReadOnly : MountAccess::ReadWrite, grant.id});
  }
  for (const Pinned& pinned : facts_.pinned)
    entries.push_back({pinned.path, nullptr, MountAccess::ReadWrite, pinned.id, nullptr, &pinned});
  // Parents first: a nested grant is mounted over the tree it narrows or widens.
  std::ranges::sort(entries, {}, [](const Entry& entry) { return entry.path; });
  for (const auto& [path, grant, access, id, frozen, pinned] : entries) {
    if (frozen != nullptr) {
      show_frozen(*frozen);
      continue;
    }
    if (grant == nullptr) {
      // In a stage a rename is only another change, judged when it is applied.
      if (is_staged() || !tree_.from_host(path)) continue;
      if (pinned->is_protected_link() && request_.tracked.contains(pinned->path)) {
        plan_.keeping.paths.push_back({pinned->path, *pinned->shows, KeptPath::Form::File});
        continue;
      }
      plan_.build.emplace_back(
          op::Hold{std::string(path), id, access, "leads to what is protected"});
      continue;
    }
    for (const std::string_view reserved : {"/proc", "/dev"}) {
      if (contains(reserved, grant->path)) {
        return fail(policy_error(
            "a grant below " + std::string(reserved) + " cannot be given: " + quote(grant->written),
            "the sandbox has its own; copy what is needed to a directory elsewhere"));
      }
    }
    if (access == MountAccess::ReadWrite) CORDON_CHECK(refuse_over_system(*grant));
    if (grant->path == "/") {
      for (const SystemEntry& entry : shown_root_entries()) {
        // With a grant of its own it is mounted as that says, once.
        const auto is_it = [&](const Entry& other) { return other.path == entry.path; };
        if (std::ranges::any_of(entries, is_it)) continue;
        if (entry.kind == SystemEntry::Kind::Symlink) {
          tree_.symlink(entry.path, entry.target);
        } else {
          tree_.bind(
              entry.path, entry.path, access,
              entry.kind == SystemEntry::Kind::Directory ? FileKind::Directory : FileKind::Regular,
              {});
        }
      }
      continue;
    }
    if (is_staged() && access == MountAccess::ReadWrite) {
      stage(*grant);
      continue;
    }
    tree_.bind(grant->path, grant->path, access, grant->kind, grant->id);
  }
  return {};
}

void NativePlanner::stage(const Grant& grant) {
  const std::string place = join(request_.stage_directory, std::to_string(staged_.size()));
  if (request_.stage_is_copy) {
    tree_.staged({grant.path, grant.id, join(place, kCopyName), {}, {}});
  } else {
    const bool has_git = std::ranges::any_of(
        facts_.git, [&](const GitDirectory& git) { return contains(grant.path, git.path); });
    tree_.staged({grant.path, grant.id, join(place, kUpperName), join(place, kWorkName),
                  has_git ? join(place, kSteadyName) : std::string()});
  }
  staged_.push_back(grant.path);
}

bool NativePlanner::lies_in_stage(std::string_view path) const {
  std::size_t longest = 0;
  for (const std::string& root : staged_)
    if (contains(root, path)) longest = std::max(longest, root.size());
  const auto is_closer = [&](const Grant& grant) {
    return contains(grant.path, path) && grant.path.size() > longest;
  };
  return longest > 0 && std::ranges::none_of(read_, is_closer);
}

bool NativePlanner::is_frozen(std::string_view path) const {
  return std::ranges::any_of(facts_.frozen, [&](const Frozen& one) { return one.path == path; });
}

bool NativePlanner::is_masked(std::string_view path) const {
  return std::ranges::any_of(facts_.masked, [&](const Masked& one) { return one.path == path; });
}

void NativePlanner::show_frozen(const Frozen& frozen) {
  const auto granted_itself = [&](std::string_view path) {
    const auto same = [&](const Grant& grant) { return grant.path == path; };
    return std::ranges::any_of(read_, same) || std::ranges::any_of(write_, same);
  };
  // What has a mount of its own gets it when its turn comes. What is masked stays the empty place
  // that is made for it.
  const auto is_bound = [&](const Frozen::Entry& entry) {
    const std::string path = join(frozen.path, entry.name);
    return entry.target.empty() && !is_frozen(path) && !granted_itself(path) && !is_masked(path);
  };
  std::vector<op::Skeleton::Entry> places;
  for (const Frozen::Entry& entry : frozen.entries)
    places.push_back({entry.name, entry.file, entry.target, is_bound(entry)});
  // In another skeleton it covers a place that was made for it.
  const bool in_another = is_frozen(parent(frozen.path));
  tree_.skeleton(frozen.path, in_another ? FileId{} : frozen.id, std::move(places));
  for (const Frozen::Entry& entry : frozen.entries) {
    if (!is_bound(entry)) continue;
    const std::string path = join(frozen.path, entry.name);
    tree_.bind(path, path, MountAccess::ReadOnly, entry.file, entry.id);
  }
}

std::vector<SystemEntry> NativePlanner::shown_root_entries() const {
  std::vector<SystemEntry> shown;
  std::ranges::copy_if(facts_.root_entries, std::back_inserter(shown),
                       [&](const SystemEntry& entry) { return !is_own(entry.path, facts_); });
  return shown;
}

void NativePlanner::links_to_grants() {
  for (const LinkedName& one : linked_names({read_, write_}, caller_)) {
    // Where the host's own directory is shown, the link is there or hidden on purpose.
    if (!tree_.exists(one.path) || tree_.exists(one.name) || !tree_.is_made(parent(one.name)))
      continue;
    tree_.symlink(one.name, one.path);
  }
}

// Beside a grant below a private home there is nothing of the host: what is written there would be
// gone with the run, and the command would not know. The home itself is a place to write; a
// directory that only leads to a grant is none. Directories with a dot are where tools keep what is
// theirs, in whatever home they find.
void NativePlanner::ways_to_grants() {
  if (!has_private_home()) return;
  std::set<std::string> tops;
  for (const Grant& grant : write_) {
    if (grant.path == caller_.home || !contains(caller_.home, grant.path)) continue;
    const std::vector<std::string_view> below =
        components(std::string_view(grant.path).substr(caller_.home.size()));
    if (below.size() < 2 || below.front().starts_with('.')) continue;
    const std::string top = join(caller_.home, below.front());
    if (!tree_.from_host(top)) tops.insert(top);
  }
  for (const std::string& top : tops) plan_.build.emplace_back(op::ReadOnlyWay{top});
}

}  // namespace cordon
