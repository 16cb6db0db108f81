// The native plan: seven namespaces, a new root built from nothing, Landlock, seccomp, no
// capabilities. The order here is the order in which the kernel is asked.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "plan/git_environment.h"
#include "plan/limits.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/agents.h"
#include "policy/decide.h"
#include "policy/environment.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::uint64_t kRootBytes = 4ULL << 20;
constexpr std::uint64_t kPrivateConfigBytes = 16ULL << 20;
constexpr std::uint64_t kBytesPerInode = 4096;
constexpr std::uint32_t kInsideIdForRoot = 1000;
// Below /dev nothing can be granted, so that no grant covers it.
constexpr std::string_view kGitDirectory = "/dev/cordon/git";
// Below the private directory of the run.
constexpr std::string_view kConfigCopies = "git";
constexpr std::string_view kHeldCopy = "held-";
// Below the directory of one staged tree.
constexpr std::string_view kUpperName = "upper";
constexpr std::string_view kWorkName = "work";
constexpr std::string_view kSteadyName = "steady";
constexpr std::string_view kCopyName = "copy";

class NativePlanner {
 public:
  NativePlanner(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                const PlanRequest& request)
      : effective_(clamped.effective()),
        facts_(facts),
        caller_(caller),
        request_(request),
        tree_(plan_.build) {}

  Result<Plan> make() {
    plan_.backend = BackendKind::Native;
    CORDON_CHECK(refuse_unenforceable());
    ShownGrants shown = shown_grants(effective_, facts_, plan_);
    read_ = std::move(shown.read);
    write_ = std::move(shown.write);
    inside_ = {caller_.uid, caller_.gid, caller_.uid == 0 ? kInsideIdForRoot : caller_.uid,
               caller_.gid == 0 ? kInsideIdForRoot : caller_.gid};
    plan_.build = {op::EnterNamespaces{effective_.net.mode != NetMode::Open}, inside_,
                   op::PrivateMounts{}, op::NewRoot{kRootBytes}};
    system();
    proc_and_devices();
    scratch();
    CORDON_CHECK(grants());
    ways_to_grants();
    links_to_grants();
    masks();
    holds();
    git();
    std::ranges::sort(plan_.keeping.paths);
    if (!plan_.keeping.empty()) lose(plan_, {Loss::Protected});
    finish_build();
    landlock();
    command();
    CORDON_CHECK(confine());
    return std::move(plan_);
  }

 private:
  Result<void> refuse_unenforceable() const;
  [[nodiscard]] bool is_brokered() const {
    return facts_.answers_calls || effective_.net.mode == NetMode::Allow;
  }
  // Without the network it knows no name; what was asked for is told.
  [[nodiscard]] bool has_resolver() const {
    return is_brokered() && effective_.net.mode != NetMode::Open;
  }
  void system();
  void proc_and_devices();
  void scratch();
  Result<void> grants();
  [[nodiscard]] Result<void> refuse_over_system(const Grant& grant) const;
  void ways_to_grants();
  // Homes and grants that are reached through a symlink outside have that name inside as well.
  void links_to_grants();
  // A policy without any file of its own gets what loading a program needs, and nothing else.
  [[nodiscard]] bool grants_nothing() const {
    return effective_.read.empty() && effective_.write.empty() && !effective_.scratch;
  }
  // An explicit grant shows the real thing; the private part is what remains.
  [[nodiscard]] bool granted(std::string_view path) const {
    const auto shown = [&](const Grant& grant) { return shows(grant.path, path, facts_); };
    return std::ranges::any_of(read_, shown) || std::ranges::any_of(write_, shown);
  }
  [[nodiscard]] bool has_private_home() const {
    return effective_.home == HomeMode::Private && effective_.scratch && !caller_.home.empty() &&
           !granted(caller_.home);
  }
  [[nodiscard]] bool has_persistent_home() const {
    return effective_.home == HomeMode::Persistent && !caller_.home.empty() &&
           !granted(caller_.home);
  }
  [[nodiscard]] bool has_caches() const {
    return effective_.caches && !caller_.home.empty() && !granted(caller_.home);
  }
  [[nodiscard]] bool is_frozen(std::string_view path) const;
  [[nodiscard]] bool is_masked(std::string_view path) const;
  [[nodiscard]] bool is_staged() const { return !request_.stage_directory.empty(); }
  // Whether the top of the repository around the current directory is granted beside a stage.
  [[nodiscard]] bool stages_part_of_repository() const {
    return is_staged() && std::ranges::any_of(effective_.read, [&](const Grant& grant) {
             return grant.source == Grant::Source::Repository && contains(grant.path, plan_.cwd);
           });
  }
  // Whether the overlay of a writable grant shows `path`.
  [[nodiscard]] bool lies_in_stage(std::string_view path) const;
  void stage(const Grant& grant);
  void show_frozen(const Frozen& frozen);
  // The part of a grant of "/" that the sandbox does not have of its own.
  [[nodiscard]] std::vector<SystemEntry> shown_root_entries() const;
  // Private and writable: the mount and the Landlock rule come from the same word.
  void own_scratch(const std::string& name, const std::string& path, unsigned mode);
  void own_persistent(const std::string& source, const std::string& path);
  void masks();
  // A copy of the run's own, or read-only.
  void hold(const Held& held, std::string reason);
  [[nodiscard]] bool may_be_copied(const Held& held) const;
  [[nodiscard]] bool has_mounts_below(const std::string& path) const;
  void holds();
  void git();
  void finish_build();
  void landlock();
  void command();
  Result<void> confine();
  [[nodiscard]] bool needs_private_configs() const;
  void allow(const std::string& path, LandlockUse use, FileKind kind);
  [[nodiscard]] bool landlocked() const { return facts_.landlock_abi > 0; }

  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  const PlanRequest& request_;
  Plan plan_;
  Tree tree_;
  std::vector<Grant> read_;
  std::vector<Grant> write_;
  op::MapIdentity inside_;
  std::vector<std::string> own_writable_;
  std::size_t copies_ = 0;
  std::vector<std::string> staged_;  // paths of grants that are overlays
  std::vector<std::pair<std::string, LandlockUse>> allowed_;
};

Result<void> NativePlanner::refuse_unenforceable() const {
  CORDON_CHECK(refuse_synthetic(effective_.net));
  if (!effective_.sockets.empty() && !facts_.answers_calls) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "net.sockets cannot be held by native on this kernel",
                 .hint = "local sockets need Linux 5.19"});
  }
  if (effective_.net.mode == NetMode::Open && !effective_.net.deny.empty()) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "net.deny cannot be held with network mode open by native",
                 .hint = "use --net none, or remove the deny"});
  }
  if (effective_.net.mode == NetMode::Open && !effective_.net.publish.empty()) {
    return fail(policy_error("net.publish contradicts network mode open",
                             "remove the list, or leave out --publish: the command listens "
                             "on the host's network itself"));
  }
  const auto accepted = [&](Layer layer) {
    return std::ranges::find(effective_.accept_missing, layer) != effective_.accept_missing.end();
  };
  if (!landlocked() && !accepted(Layer::Landlock)) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "this kernel has no Landlock",
                 .hint = "boot with lsm=landlock,..., or accept it in a ceiling: [require] "
                         "accept_missing = [\"landlock\"]"});
  }
  if (lacks_required_cgroup(effective_, facts_)) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "the policy requires cgroup limits and no cgroup can be made here",
                 .hint = "start as root, or delegate a cgroup (systemd-run --user --scope)"});
  }
  return {};
}

bool NativePlanner::needs_private_configs() const {
  return !is_staged() &&
         std::ranges::any_of(facts_.git, [](const GitDirectory& g) { return !g.configs.empty(); });
}

void NativePlanner::system() {
  tree_.directory("/etc");
  for (const SystemEntry& entry : facts_.system) {
    if (entry.tier == SystemEntry::Tier::Programs && grants_nothing()) continue;
    switch (entry.kind) {
      case SystemEntry::Kind::Symlink:
        tree_.symlink(entry.path, entry.target);
        break;
      case SystemEntry::Kind::Directory:
        tree_.bind_system(entry.path, FileKind::Directory);
        break;
      case SystemEntry::Kind::File:
        tree_.bind_system(entry.path, FileKind::Regular);
        break;
    }
  }
  const std::string& home = effective_.home == HomeMode::None ? "/" : caller_.home;
  for (SystemFile& file :
       system_files(inside_.inside_uid, inside_.inside_gid, caller_.user, home)) {
    tree_.file(file.path, std::move(file.content));
  }
  if (effective_.net.mode == NetMode::Open) {
    for (const std::string& path : facts_.network_files) {
      tree_.bind_system(path, FileKind::Regular);
    }
  } else {
    for (SystemFile& file : isolated_network_files(has_resolver())) {
      tree_.file(file.path, std::move(file.content));
    }
  }
}

void NativePlanner::proc_and_devices() {
  tree_.directory("/proc", 0555);
  plan_.build.emplace_back(op::MountProc{});
  for (const std::string_view path : kMaskedProcFiles) {
    plan_.build.emplace_back(op::MaskProc{std::string(path), FileKind::Regular});
  }
  for (const std::string_view path : kMaskedProcDirectories) {
    plan_.build.emplace_back(op::MaskProc{std::string(path), FileKind::Directory});
  }
  plan_.build.emplace_back(op::ReadOnlySoFar{});
  tree_.directory("/dev");
  for (const std::string_view path : kDevices) {
    tree_.file(std::string(path), {}, 0600);
    plan_.build.emplace_back(op::DeviceNode{std::string(path)});
  }
  for (const DeviceLink& link : kDeviceLinks) {
    tree_.symlink(std::string(link.path), std::string(link.target));
  }
  tree_.directory(std::string(kTerminals));
  plan_.build.emplace_back(op::MountDevpts{});
}

void NativePlanner::scratch() {
  std::uint64_t bytes = effective_.scratch.value_or(0);
  if (bytes == 0 && needs_private_configs()) bytes = kPrivateConfigBytes;
  if (bytes > 0)
    plan_.build.emplace_back(
        op::Scratch{bytes, std::max<std::uint64_t>(1024, bytes / kBytesPerInode)});
  if (effective_.scratch) {
    for (const ScratchPlace& place : kScratchPlaces) {
      if (granted(place.path)) continue;
      own_scratch(std::string(place.name), std::string(place.path), 01777);
    }
    plan_.limits.push_back({"scratch", *effective_.scratch, LimitBy::Tmpfs});
  }
  if (has_private_home()) {
    own_scratch("home", caller_.home, 0700);
    if (!facts_.gitconfig.empty()) {
      plan_.build.emplace_back(op::ScratchFile{"home/.gitconfig", facts_.gitconfig, 0644});
    }
    for (const HomeFile& file : facts_.home_files)
      tree_.file(join(caller_.home, file.name), file.content, 0644);
  }
  if (has_persistent_home()) {
    own_persistent(request_.persistent_home, caller_.home);
  }
  if (has_caches()) {
    own_persistent(request_.cache_directory, join(caller_.home, ".cache"));
  }
  if (!needs_private_configs()) return;
  if (request_.private_copies) {
    own_persistent(join(request_.private_directory, kConfigCopies), std::string(kGitDirectory));
  } else {
    own_scratch("git", std::string(kGitDirectory), 0700);
  }
}

void NativePlanner::own_scratch(const std::string& name, const std::string& path, unsigned mode) {
  tree_.scratch(name, path, mode);
  own_writable_.push_back(path);
}

void NativePlanner::own_persistent(const std::string& source, const std::string& path) {
  tree_.bind_persistent(source, path);
  own_writable_.push_back(path);
}

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
    entries.push_back({pinned.path, nullptr, MountAccess::ReadWrite, pinned.id});
  // Parents first: a nested grant is mounted over the tree it narrows or widens.
  std::ranges::sort(entries, {}, [](const Entry& entry) { return entry.path; });
  for (const auto& [path, grant, access, id, frozen] : entries) {
    if (frozen != nullptr) {
      show_frozen(*frozen);
      continue;
    }
    if (grant == nullptr) {
      // In a stage a rename is only another change, judged when it is applied.
      if (!is_staged() && tree_.from_host(path))
        plan_.build.emplace_back(
            op::Hold{std::string(path), id, access, "leads to what is protected"});
      continue;
    }
    for (const std::string_view reserved : {"/proc", "/dev"}) {
      if (contains(reserved, grant->path)) {
        return fail(policy_error(
            "a grant below " + std::string(reserved) + " cannot be given: " + quote(grant->written),
            "the sandbox has its own"));
      }
    }
    if (access == MountAccess::ReadWrite) CORDON_CHECK(refuse_over_system(*grant));
    if (grant->path == "/") {
      for (const SystemEntry& entry : shown_root_entries()) {
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

void NativePlanner::links_to_grants() {
  for (const LinkedName& one : linked_names({read_, write_}, caller_)) {
    // Where the host's own directory is shown, the link is there or hidden on purpose.
    if (!tree_.exists(one.path) || tree_.exists(one.name) || !tree_.is_made(parent(one.name)))
      continue;
    tree_.symlink(one.name, one.path);
  }
}

void NativePlanner::masks() {
  for (const Masked& masked : facts_.masked) {
    // Behind a private directory there is nothing of the host to hide.
    if (!tree_.from_host(masked.path) || is_frozen(parent(masked.path))) continue;
    plan_.build.emplace_back(
        op::Mask{masked.path, masked.file, masked.id, masked.reason, lies_in_stage(masked.path)});
  }
}

bool NativePlanner::has_mounts_below(const std::string& path) const {
  const auto below = [&](const auto& entry) {
    return entry.path != path && contains(path, entry.path);
  };
  return std::ranges::any_of(facts_.masked, below) || std::ranges::any_of(facts_.pinned, below) ||
         std::ranges::any_of(facts_.held, below) || std::ranges::any_of(facts_.git, below) ||
         std::ranges::any_of(read_, below) || std::ranges::any_of(write_, below);
}

bool NativePlanner::may_be_copied(const Held& held) const {
  if (!request_.private_copies || held.kind == HoldKind::Denied) return false;
  // What is granted is what was judged, and no copy of it.
  const auto is_it = [&](const Grant& grant) { return grant.path == held.path; };
  if (std::ranges::any_of(read_, is_it) || std::ranges::any_of(write_, is_it)) return false;
  // A copy would show what is masked below, and hide what is granted there.
  if (held.file == FileKind::Directory) return !has_mounts_below(held.path);
  // A program of Cordon's own, and the pointer by which git finds a repository, are to stay.
  return held.kind != HoldKind::Path && basename(held.path) != ".git";
}

void NativePlanner::hold(const Held& held, std::string reason) {
  if (!may_be_copied(held)) {
    plan_.build.emplace_back(
        op::Hold{held.path, held.id, MountAccess::ReadOnly, std::move(reason)});
    return;
  }
  // Git replaces a file by another of that name, which the kernel refuses for whatever is mounted
  // on. So this one is left as it is, kept before the run and put back after it.
  if (request_.tracked.contains(held.path)) {
    plan_.keeping.paths.push_back({held.path, held.kind, KeptPath::Form::File});
    return;
  }
  const std::string name = std::string(kHeldCopy) + std::to_string(copies_++);
  plan_.build.emplace_back(op::PrivateCopy{join(request_.private_directory, name), held.path,
                                           held.file, held.id, std::move(reason)});
}

void NativePlanner::holds() {
  // Nothing that is written in a stage is on the host before it is applied, and then it is judged.
  if (is_staged()) return;
  for (const Held& held : facts_.held) {
    if (tree_.from_host(held.path)) hold(held, std::string(name_of(held.kind)));
  }
  for (const Pinned& closed : facts_.closed) {
    if (!tree_.from_host(closed.path)) continue;
    plan_.build.emplace_back(
        op::Hold{closed.path, closed.id, MountAccess::ReadOnly, "cannot be searched"});
  }
}

void NativePlanner::git() {
  if (is_staged()) return;
  std::size_t number = 0;
  for (const GitDirectory& directory : facts_.git) {
    const auto is_copied = [&](const std::string& path) {
      return request_.private_copies &&
             std::ranges::any_of(directory.unseen, [&](const GitDirectory::Unseen& one) {
               return contains(one.path, path);
             });
    };
    for (const Held& pinned : directory.pinned) {
      if (is_copied(pinned.path)) continue;
      plan_.build.emplace_back(
          op::Hold{pinned.path, pinned.id, MountAccess::ReadWrite, "git directory"});
    }
    for (const Held& held : directory.held) {
      if (is_copied(held.path)) continue;
      // Pointers from one git directory to another are single files: they stay read-only.
      if (held.file == FileKind::Directory) {
        hold(held, "git");
      } else {
        plan_.build.emplace_back(op::Hold{held.path, held.id, MountAccess::ReadOnly, "git"});
      }
    }
    for (const GitDirectory::Config& config : directory.configs) {
      if (is_copied(config.path)) continue;
      const std::string name = "git/" + std::to_string(number);
      std::string copy = std::string(kGitDirectory) + "/" + std::to_string(number++);
      if (request_.private_copies) {
        // One directory for all of them: each file of its own makes its own lock beside it.
        const std::string place = join(request_.private_directory, kConfigCopies);
        plan_.configs.push_back(
            {config.path, config.id, config.content, join(place, basename(copy))});
      } else {
        plan_.build.emplace_back(op::ScratchFile{name + "/config", config.content, 0600});
        copy += "/config";
      }
      plan_.build.emplace_back(op::PrivateConfig{config.path, config.id, name, std::move(copy)});
    }
  }
  // Last, so that what a run is more likely to change has the budget of the copies first.
  if (!request_.private_copies) return;
  for (const GitDirectory& directory : facts_.git) {
    for (const GitDirectory::Unseen& one : directory.unseen) {
      hold({one.path, HoldKind::Git, FileKind::Directory, one.id}, std::string(kUnseenWorktree));
    }
  }
}

void NativePlanner::finish_build() {
  tree_.directory(std::string(kEmptyDirectory));
  plan_.build.emplace_back(op::HostName{"cordon"});
  if (effective_.net.mode != NetMode::Open) plan_.build.emplace_back(op::LoopbackUp{});
  if (has_resolver()) plan_.build.emplace_back(op::OpenResolver{});
  if (!effective_.net.publish.empty()) {
    plan_.build.emplace_back(op::OfferSockets{effective_.net.publish});
  }
  plan_.build.emplace_back(op::PivotRoot{});
  plan_.seal.emplace_back(op::ReadOnlyRoot{});
}

void NativePlanner::allow(const std::string& path, LandlockUse use, FileKind kind) {
  // A rule reaches everything below its path, so one that an ancestor already gives is left out.
  for (const auto& [above, given] : allowed_) {
    const bool comparable = given != LandlockUse::Device && use != LandlockUse::Device;
    if (comparable && given >= use && contains(above, path)) return;
  }
  allowed_.emplace_back(path, use);
  plan_.build.emplace_back(op::LandlockAllow{path, use, kind});
}

void NativePlanner::landlock() {
  lose(plan_, landlock_losses(facts_.landlock_abi));
  if (!landlocked()) {
    plan_.missing.push_back(Layer::Landlock);
    return;
  }
  allow("/", LandlockUse::List, FileKind::Directory);
  for (const SystemEntry& entry : facts_.system) {
    if (entry.kind == SystemEntry::Kind::Directory && !contains("/etc", entry.path)) {
      allow(entry.path, LandlockUse::ReadExecute, FileKind::Directory);
    }
  }
  allow("/etc", LandlockUse::Read, FileKind::Directory);
  allow("/proc", LandlockUse::Read, FileKind::Directory);
  allow("/dev", LandlockUse::Device, FileKind::Directory);
  for (const std::string& path : own_writable_) {
    allow(path, LandlockUse::ReadWrite, FileKind::Directory);
  }
  for (const Grant& grant : write_) {
    allow(grant.path, LandlockUse::ReadWrite, grant.kind);
  }
  for (const Grant& grant : read_) {
    if (grant.path != "/") {
      allow(grant.path, LandlockUse::ReadExecute, grant.kind);
      continue;
    }
    for (const SystemEntry& entry : shown_root_entries()) {
      if (entry.kind == SystemEntry::Kind::Symlink) continue;
      const bool directory = entry.kind == SystemEntry::Kind::Directory;
      allow(entry.path, LandlockUse::ReadExecute,
            directory ? FileKind::Directory : FileKind::Regular);
    }
  }
}

void NativePlanner::command() {
  plan_.argv = request_.argv;
  plan_.cwd = request_.cwd;
  if (!tree_.exists(plan_.cwd)) {
    plan_.reductions.push_back({"cwd", request_.cwd, "/", Reduction::Because::Nonexistent});
    plan_.cwd = "/";
  }
  plan_command(effective_, caller_, plan_);
  if (has_caches()) add_cache_variables(effective_, caller_, join(caller_.home, ".cache"), plan_);
  const bool other_objects = request_.private_copies || effective_.mode == WriteMode::Staged;
  if (other_objects && !facts_.git.empty()) add_git_stat_settings(plan_.environment);
  if (stages_part_of_repository()) {
    // An overlay is a file system of its own, at whose edge git would stop looking for the top.
    constexpr std::string_view kAcross = "GIT_DISCOVERY_ACROSS_FILESYSTEM=";
    const auto is_set = [&](const std::string& one) { return one.starts_with(kAcross); };
    if (std::ranges::none_of(plan_.environment, is_set))
      plan_.environment.push_back(std::string(kAcross) + "1");
  }
}

Result<void> NativePlanner::confine() {
  CORDON_TRY(limits, plan_limits(effective_.limits, effective_.net.mode, facts_, caller_.uid));
  plan_.limits.insert(plan_.limits.end(), limits.planned.begin(), limits.planned.end());
  lose(plan_, limit_losses(limits.planned));
  lose(plan_, general_losses(effective_, facts_));
  for (op::ResourceLimit& limit : limits.resource_limits) {
    plan_.confine.emplace_back(std::move(limit));
  }
  plan_.confine.emplace_back(op::NoNewPrivileges{});
  if (landlocked()) plan_.confine.emplace_back(op::RestrictLandlock{facts_.landlock_abi});
  plan_.confine.emplace_back(op::CloseDescriptors{});
  plan_.confine.emplace_back(op::NewSession{});
  plan_.confine.emplace_back(op::NewKeyring{});
  plan_.confine.emplace_back(op::ChangeDirectory{plan_.cwd});
  plan_.confine.emplace_back(op::DropCapabilities{});
  const bool brokered = is_brokered();
  plan_.confine.emplace_back(
      op::InstallSeccomp{.net = effective_.net.mode,
                         .brokered = brokered,
                         .staged = brokered && is_staged() && !request_.stage_is_copy,
                         .watched = brokered && request_.watched});
  plan_.confine.emplace_back(op::Execute{plan_.argv});
  return {};
}

}  // namespace

Result<void> refuse_synthetic(const NetRules& net) {
  const HostRule synthetic = {
      .kind = HostRule::Kind::Address4, .name = {}, .address = {198, 18}, .prefix = 15};
  const auto clashes = [&](const HostRule& rule) { return covers(synthetic, rule); };
  if (std::ranges::none_of(net.allow, clashes)) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "a rule for addresses of 198.18.0.0/15 cannot be held by native",
               .hint = "inside, these addresses stand for the names that are allowed"});
}

Result<Plan> make_native_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                              const PlanRequest& request) {
  return NativePlanner(clamped, facts, caller, request).make();
}

}  // namespace cordon
